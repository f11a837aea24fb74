"""What some words of a project's tools do that is not brought back: data taken out of a database, folders deleted, work
sent to others.

Such a tool is code of the project, or of its packages, and is often not known in any other way. That it is asked about
here holds in scripts and tasks, too. Sources: the command lines' own references.
"""

import posixpath
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType

from shield.facts.programs.reading import Reading, Value

__all__ = ["told_outcome"]

_EMPTIES = "it takes data out of a database"
_SENDS = "what it sends reaches others"
_CLEARS = "it deletes the folders or files that it is named"
# Programs by their names; of each the words that matter, in this order, with others between them. None: all of them.
_EMPTYING: Mapping[str, str] = {
    "prisma": "migrate reset|db push --force-reset|db push --accept-data-loss",
    "sequelize sequelize-cli": "db:drop*|db:migrate:undo*|db:seed:undo*",
    "knex": "migrate:rollback*|migrate:down",
    "typeorm typeorm-ts-node-commonjs typeorm-ts-node-esm": "schema:drop|migration:revert",
    "drizzle-kit": "drop|push --force",
    "mikro-orm mikro-orm-esm": "schema:drop|schema:fresh|migration:down|migration:fresh",
    "rake": (
        "db:drop*|db:reset*|db:purge*|db:truncate*|db:schema:load*|db:structure:load*|db:seed:replant*|db:rollback*"
        "|db:migrate:down*|db:migrate:redo*|db:migrate:reset*|db:mongoid:drop|db:mongoid:purge"
    ),
    "rails": "db:mongoid:drop|db:mongoid:purge",
    "mix": "ecto.drop|ecto.reset|ecto.rollback",
    "dotnet": "ef database drop|ef database update 0",
    "dotnet-ef": "database drop|database update 0",
    "diesel": "database reset|database drop|migration revert|migration redo",
    "sqlx": "database drop|database reset|migrate revert",
    "goose": "down*|reset|redo",
    "migrate": "down|drop",
    "dbmate": "drop|down|rollback",
    "flyway": "clean|undo",
    "liquibase": "drop-all*|dropAll*|rollback*",
    "mvn mvnw": "flyway:clean|flyway:undo|liquibase:dropAll|liquibase:rollback*|*:flyway-maven-plugin:*clean",
    "gradle gradlew": "*flywayClean|*flywayUndo",
    "aerich": "downgrade",
    "piccolo": "migrations backwards",
    "sea-orm-cli": "migrate fresh|migrate refresh|migrate reset|migrate down",
    "atlas": "schema clean|migrate down",
    "buffalo": "pop drop|pop reset|pop migrate down",
    "soda": "drop|reset|migrate down",
    "yoyo": "rollback|reapply",
    "phinx": "rollback",
    "hasura": "migrate apply --down*",
    "hanami": "db drop|db rollback",
    "lein": "migratus reset|migratus rollback|migratus destroy",
    "symfony console": "doctrine:database:drop|doctrine:schema:drop",
    "wp": "db reset|db drop|db clean",
    "drush": "sql-drop|sql:drop",
}
# distutils, "clean" and "rotate"
_CLEARING: Mapping[str, str] = {
    "setup.py": "clean -t*|clean -b*|clean --build-*|clean --bdist-base*|rotate",
}
_SENDING: Mapping[str, str | None] = {
    "semantic-release np release-it gh-pages chromatic percy fab": None,
    "vercel": "--prod*|deploy",
    "goreleaser": "release",
    "changeset lerna vsce ovsx jsr flit pdm hatch maturin ko": "publish",
    "mkdocs": "gh-deploy",
    "mike cap mina": "deploy*",
    "snapcraft charmcraft rockcraft anaconda sentry-cli": "upload*|push*",
    "oras crane buildah": "push*|copy|cp",
    "skopeo": "copy|sync|delete",
    "skaffold": "run|deploy|dev|debug|delete",
    "eas expo": "submit|build|update|publish",
    "heroku": "container:*|deploy*|apps:destroy*|pg:reset*|pg:push*|run",
    "eb": "deploy|create|terminate|scale|setenv",
    "lein dart pub luarocks": "deploy|publish|upload",
    "nuget": "push|delete",
    "cpan-upload mosquitto_pub": None,
    "ghp-import": "-*p*|--push",
    "fastlane": "deliver|supply|pilot|*release*|*deploy*|upload*",
    "gradle gradlew": "*uploadArchives|*:jib|jib",
}
_IDLE = frozenset(("--dry-run", "--dryRun", "--help", "-h", "--version", "--snapshot"))


def told_outcome(reading: Reading, name: str, words: Sequence[Value]) -> None:
    """Ask about a program of this name with these words, if they are among those that are known for it."""
    program = posixpath.basename(name).removesuffix(".js")
    texts = [word.text if word.fixed else "" for word in words]
    if program in _EMPTYING_BY_NAME and any(_stand_in(texts, each) for each in _EMPTYING_BY_NAME[program]):
        reading.ask(f"`{program}`: {_EMPTIES}")
    if program in _CLEARING_BY_NAME and any(_stand_in(texts, each) for each in _CLEARING_BY_NAME[program]):
        reading.ask(f"`{program}`: {_CLEARS}")
    if program not in _SENDING_BY_NAME or not _IDLE.isdisjoint(texts):
        return
    if any(_stand_in(texts, each) for each in _SENDING_BY_NAME[program]):
        reading.ask(f"`{program}`: {_SENDS}")


def _stand_in(texts: Sequence[str], patterns: Sequence[str]) -> bool:
    """Whether the words hold these ones, in their order."""
    left = iter(texts)
    return all(any(fnmatchcase(text, pattern) for text in left) for pattern in patterns)


def _by_name(table: Mapping[str, str | None]) -> Mapping[str, tuple[tuple[str, ...], ...]]:
    return MappingProxyType(
        {
            name: tuple([tuple(each.split()) for each in said.split("|")]) if said is not None else ((),)
            for names, said in table.items()
            for name in names.split()
        }
    )


_EMPTYING_BY_NAME = _by_name(_EMPTYING)
_CLEARING_BY_NAME = _by_name(_CLEARING)
_SENDING_BY_NAME = _by_name(_SENDING)
