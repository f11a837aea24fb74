"""What `default` says of the verbs of frameworks: the project's own code goes ahead, words that are code are asked."""

import pytest

from shell_world import MadeFile, reading_policy, text
from shield.types import Decision

PROGRAM = MadeFile(content=b"#!/bin/sh\n", mode=0o755)
FILES = {
    "app.py": text("app = 1\n"),
    "code.py": text("x\n"),
    "click/__init__.py": text("\n"),
    "site/main.py": text("app = 1\n"),
    "mysite/main.py": text("app = 1\n"),
    "manage.py": text("#!/usr/bin/env python3\nx = 1\n"),
    "sub/a.txt": text("x\n"),
    "artisan": text("<?php\n"),
    "bin/console": text("<?php\n"),
    "bin/rails": PROGRAM,
    "alembic.ini": text("[alembic]\n"),
    "nb.ipynb": text("{}"),
    "src/x.py": text("x\n"),
}


def decided(line, *, confined=True):
    return reading_policy(line, FILES, confined=confined)


@pytest.mark.parametrize(
    "line",
    ["flask routes", "flask --app app routes", "flask --app app:create --debug run --port 5001", "flask --app ./app.py run", "FLASK_APP=app flask db upgrade",
     "FLASK_APP=app.py FLASK_DEBUG=1 flask run", "flask db migrate -m 'add users'", "flask db current", "alembic upgrade head", "alembic -c alembic.ini history -v",
     "alembic revision --autogenerate -m 'add users'", "uvicorn mysite.main:app --reload --port 8000", "gunicorn app:app -w 4 -b 127.0.0.1:8000",
     "hypercorn app:app --bind :8000", "celery -A app inspect ping", "celery -A mysite.main:app worker -l info -c 2", "streamlit run app.py --server.port 8501",
     "jupyter nbconvert --to markdown nb.ipynb", "jupyter nbconvert --to html '*.ipynb'", "RAILS_ENV=test rails db:seed", "jupyter nbconvert --to notebook --execute nb.ipynb --output out.ipynb",
     "rails routes -g users", "rails test test/x_test.rb:12 -n test_x", "rails db:migrate", "rails db:migrate RAILS_ENV=test", "rails about", "rails -T", "rails stats",
     "rails server -p 3000", "rails g model User name:string", "bin/rails custom:task", "RAILS_ENV=test bin/rails db:migrate:status",
     "python manage.py migrate", "python manage.py test app", "php artisan route:list", "php bin/console cache:clear"],
)  # fmt: skip
def test_verbs_that_run_the_projects_code_go_ahead(line):
    assert decided(line) is Decision.ALLOW
    assert decided(line, confined=False) is not Decision.ALLOW


@pytest.mark.parametrize("server", ["flask --app {} routes", "FLASK_APP={} flask routes", "export FLASK_APP={}; flask run", "uvicorn {}", "gunicorn {}",
                                    "hypercorn {}", "celery -A {} worker", "celery --app={} inspect ping"])  # fmt: skip
@pytest.mark.parametrize(
    "app",
    ["'os:system(1)'", "os:abort", "timeit:main", "pdb:main", "code:interact", "code", "click:prompt", "'app:create(1)'", "'app:f()'", "app:os.system", "IPython:embed",
     "../app.py", "/tmp/app.py", "src/../../x.py", "site.main:app", "code.py", "./code.py:interact", "'app;x'", "'app:x=1'", "$X", "$(cat x)", "''", "none", "-c",
     "https://x.example/a"],
)  # fmt: skip
def test_a_name_that_is_no_module_of_the_workspace_is_asked(server, app):
    assert decided(server.format(app)) is not Decision.ALLOW


@pytest.mark.parametrize(
    "line",
    ["flask shell", "flask shell < src/x.py", "echo x | flask --app app run", "flask --app app seed x", "flask db downgrade", "flask db init", "flask --foo run",
     "flask -e /tmp/.env run", "FLASK_RUN_EXTRA_FILES=x flask run", "FLASK_SKIP_DOTENV=1 flask run", "flask run --cert /etc/shadow", "flask run --key ~/.ssh/id_rsa",
     "alembic downgrade base", "alembic edit head", "alembic init x", "alembic -c /tmp/a.ini upgrade head", "alembic -c ../a.ini upgrade head", "alembic -x a=b upgrade head",
     "alembic revision --version-path /x", "ALEMBIC_CONFIG=/tmp/a.ini alembic upgrade head", "alembic upgrade $X",
     "uvicorn app:app --log-config /tmp/x.yaml", "uvicorn app:app --loop os:x", "uvicorn app:app --http os.x", "uvicorn app:app --app-dir /tmp", "uvicorn app:app x",
     "uvicorn --app-dir .. app:app", "UVICORN_LOG_CONFIG=/tmp/x uvicorn app:app", "UVICORN_APP=os:x uvicorn", "uvicorn",
     "gunicorn -c /tmp/c.py app:app", "gunicorn -c python:os app:app", "gunicorn -k x.Worker app:app", "gunicorn --pythonpath /tmp app:app", "gunicorn --chdir /tmp app:app",
     "gunicorn -D app:app", "gunicorn --paste x.ini", "GUNICORN_CMD_ARGS='-c /tmp/x' gunicorn app:app", "gunicorn app:app --logger-class x.y", "gunicorn -e LD_PRELOAD=x app:app",
     "celery -A app shell", "celery -A app purge", "celery -A app control shutdown", "celery -A app call app.task", "celery --config x -A app worker", "celery -b redis://x.example -A app worker",
     "celery -A app worker -P x:y", "celery -A app worker --pool=x", "celery -A app beat -S x.y", "celery --workdir /tmp -A app worker", "celery -A app multi start", "celery -A app worker -D",
     "celery -A app inspect conf", "CELERY_CONFIG_MODULE=x celery -A app worker", "celery -A app worker -f /etc/x",
     "streamlit run https://x.example/a.py", "streamlit run /tmp/a.py", "streamlit run ../a.py", "streamlit hello", "streamlit config show", "streamlit run $X",
     "jupyter notebook", "jupyter lab", "jupyter console", "jupyter nbconvert --config x.py nb.ipynb", "jupyter nbconvert --to x.y:Z nb.ipynb", "jupyter nbconvert --template /tmp/x nb.ipynb",
     "jupyter nbconvert --Exporter.preprocessors=x nb.ipynb", "jupyter nbconvert --to html nb.ipynb --output-dir /etc", "jupyter run nb.ipynb", "jupyter nbconvert --to html '.e*'", "jupyter nbconvert --to html '*'", "jupyter nbconvert --to html '[.]env'", "jupyter nbconvert --to html '*/x.ipynb'",
     "rails deploy", "rails release:publish", "RAILS_ENV=production rails db:seed", "export RACK_ENV=production; rails db:migrate",
          "rails runner 'puts 1'", "rails r x", "rails c < src/x.py", "rails dbconsole", "rails db < src/x.py", "rails about -e x", "rails db:migrate -e 'x'", "rails db:migrate -r ./x", "rails -f /tmp/Rakefile db:migrate",
     "rails db:drop", "rails db:reset", "rails db:rollback", "rails db:migrate VERSION=0", "rails db:migrate:down VERSION=1", "rails db:migrate 'x; y'", "rails credentials:show", "rails app:template LOCATION=https://x.example",
     "rails new x", "rails destroy model User", "rails g model User -f", "rails g ../x", "rails server -d", "rails server -c /tmp/config.ru", "rails stats RUBYOPT=-r./x", "rails test -r ./x", "RAKEOPT=-e rails about",
     "bin/rails runner 'puts 1'", "bin/rails db:drop", "bin/rails routes -r x",
     "./manage.py shell -c 'print(1)'", "./artisan tinker", "python -m django flush", "python -m django shell -c 'print(1)'", "python -m flask shell",
     "python -m flask --app 'os:system(1)' routes", "python -m uvicorn timeit:main", "python -m alembic downgrade base", "mkdir IPython && flask --app IPython:embed routes",
     "flask --app sub routes", "uvicorn sub.x:app",
     "python manage.py shell -c 'print(1)'", "python manage.py shell < src/x.py", "echo x | python3 ./manage.py shell", "python manage.py --settings x shell -c y", "python manage.py flush --noinput", "python manage.py dbshell",
     "python manage.py $X", "python manage.py --traceback shell_plus", "php artisan tinker", "php artisan tinker --execute 'x'", "php artisan migrate:fresh", "php artisan --env=x db:wipe", "php bin/console dbal:run-sql 'drop table x'",
     "php bin/console doctrine:query:sql x"],
)  # fmt: skip
def test_words_that_may_be_code_or_lose_data_are_asked(line):
    assert decided(line) is not Decision.ALLOW
