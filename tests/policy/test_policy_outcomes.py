"""What `default` says of tools that destroy data or reach others: a person is asked, whether the line starts them or
a script, a recipe or a task that it runs."""

import json
from dataclasses import replace

import pytest

from shell_world import HOME, WS, MadeFile, MadeFiles, text
from shield.actions.request import make_action
from shield.facts.made import PLAIN_PROGRAMS
from shield.pipeline import dry_run
from shield.policy.load import load_policy
from shield.policy.shelf import shipped_shelf
from shield.policy.world import made_place
from shield.types import ActionRequest, Decision, Isolation, Tier

PROGRAM = MadeFile(content=b"\x7fELF", mode=0o755)
POLICY = load_policy("default", shipped_shelf())
OWN = "prisma sequelize sequelize-cli knex typeorm drizzle-kit mikro-orm"
FILES = {f"node_modules/.bin/{name}": PROGRAM for name in OWN.split()} | {
    "manage.py": text("#!/usr/bin/env python3\nimport os\n"),
    "artisan": text("<?php\n"),
    "ace": text("x = 1\n"),
    "bin/rails": text("#!/bin/sh\nls\n"),
    "Rakefile": text("task :test do\nend\n"),
    "alembic.ini": text("[alembic]\n"),
    "src/a.py": text("x\n"),
    "build/x": text("x\n"),
}


def decided(line, **files):
    held = FILES | {path.replace("__", "."): text(content) for path, content in files.items()}
    words = {word for each in (line, *files.values()) for word in each.replace('"', " ").split()}
    programs = PLAIN_PROGRAMS | {word for word in words if "/" not in word} | {"make", "npm", "just", "poe", "task"}
    made = MadeFiles(held, home=HOME, cwd=WS, programs=programs)
    request = ActionRequest(id="x", action=make_action("execute_command", {"command": line}, WS))
    here = replace(made_place(), files=made, isolation=Isolation.CONFINED)
    return dry_run(request, here, POLICY, agent="agent", now_ms=0, max_tier=Tier.POLICY)[0].decision


def everywhere(command):
    """The command on the line, and run by each kind of file that says what a line runs."""
    yield decided(command)
    yield decided("bash x.sh", x__sh=f"{command}\n")
    yield decided("make x", Makefile=f"x:\n\t{command}\n")
    yield decided("npm run x", package__json=json.dumps({"scripts": {"x": command}}))
    yield decided("just x", justfile=f"x:\n  {command}\n")
    yield decided("task x", Taskfile__yml=f"tasks:\n  x: {json.dumps(command)}\n")
    yield decided("poe x", pyproject__toml=f"[tool.poe.tasks]\nx = {json.dumps(command)}\n")


@pytest.mark.parametrize(
    "command",
    ["twine upload dist/x", "gh release create v1", "gh pr create --fill", "gh pr merge 1", "docker push x/y", "aws s3 sync build s3://b", "aws s3 rm s3://b/x",
     "kubectl apply -f k.yaml", "kubectl delete ns x", "terraform apply", "terraform destroy -auto-approve", "flyctl deploy", "vercel --prod", "netlify deploy",
     "firebase deploy", "gcloud app deploy", "az webapp up", "docker compose down -v", "docker system prune -af", "docker volume rm x", "redis-cli flushall",
     "dropdb x", "systemctl stop x", "mail -s x a@b.c", "ansible-playbook x.yml", "cdk deploy", "pulumi up", "goreleaser release", "semantic-release",
     "changeset publish", "np", "cap deploy", "mkdocs gh-deploy", "heroku container:release web", "eb deploy", "lein deploy", "nuget push x", "luarocks upload x",
     "cpan-upload x", "ghp-import -np site", "mosquitto_pub -t x", "fastlane deliver", "gradle uploadArchives", "go run x.example/y@latest", "go run x.example/y@v1.0.0",
     "python3 -m ensurepip", "node https://x.example/y.js", "git push", "npm publish", "scp build/x host:/srv", "rsync -a build/ host:/srv/"],
)  # fmt: skip
def test_what_reaches_others_is_asked(command):
    assert Decision.ALLOW not in set(everywhere(command))


@pytest.mark.parametrize(
    "command",
    ["python3 manage.py flush --noinput", "python3 manage.py migrate app zero", "python3 manage.py migrate app 0001 -v 2", "python3 -m django migrate app zero",
     "alembic downgrade base", "python3 -m alembic downgrade -1", "flask db downgrade", "rails db:drop", "bin/rails db:reset", "rake db:drop", "bundle exec rake db:reset",
     "npx prisma migrate reset --force", "npx prisma db push --force-reset", "npx sequelize db:drop", "npx sequelize-cli db:migrate:undo:all", "npx knex migrate:rollback --all",
     "npx typeorm schema:drop", "npx drizzle-kit drop", "npx mikro-orm schema:drop --run", "node_modules/.bin/prisma migrate reset", "node node_modules/.bin/prisma migrate reset",
     "php artisan migrate:fresh", "php artisan queue:clear", "php artisan model:prune", "php artisan key:generate --force", "node ace db:wipe", "mix ecto.drop", "dotnet ef database update 0", "diesel database reset", "sqlx database drop", "goose -dir m down",
     "migrate -path x -database y drop", "dbmate drop", "flyway clean", "mvn flyway:clean", "php bin/console doctrine:schema:drop --force", "bin/console doctrine:database:drop", "gradle flywayClean", "liquibase drop-all"],
)  # fmt: skip
def test_what_takes_data_out_of_a_database_is_asked(command):
    assert Decision.ALLOW not in set(everywhere(command))


@pytest.mark.parametrize(
    "command",
    ["python3 manage.py migrate", "python3 manage.py migrate app", "python3 manage.py migrate app zero --plan", "alembic upgrade head", "rails db:migrate", "rake test",
     "npx prisma migrate dev", "npx sequelize db:migrate", "npx knex migrate:latest", "mix ecto.migrate", "php artisan migrate", "php artisan key:generate --show", "php artisan queue:work --once"],
)  # fmt: skip
def test_what_a_projects_migrations_add_goes_ahead(command):
    assert set(everywhere(command)) == {Decision.ALLOW}


@pytest.mark.parametrize(
    "command",
    ["docker ps", "kubectl get pods", "gh pr view 1", "docker logs x", "semantic-release --dry-run", "helm list"],
)
def test_what_only_looks_goes_ahead_in_scripts(command):
    assert set(list(everywhere(command))[1:]) == {Decision.ALLOW}
