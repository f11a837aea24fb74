"""Scripts by which a framework is managed, under names that every project gives them: which of their verbs are more
than the project's own code."""

import posixpath
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType

from shield.facts.programs.outcomes import told_outcome
from shield.facts.programs.reading import Reading, Value
from shield.types import RunsCode

__all__ = ["managed"]

# What runs code of the line or of its input, and what empties a database.
_CODE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "manage.py": ("shell", "shell_plus", "dbshell", "shell_ipynb", "runscript"),
        "artisan": ("tinker", "db"),
        "console": ("dbal:run-sql", "doctrine:query:*"),
        "ace": ("repl",),
    }
)
_EMPTIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "manage.py": (
            "flush",
            "reset_db",
            "reset_schema",
            "clean_pyc",
            "delete_squashed_migrations",
            "remove_stale_contenttypes",
        ),
        "artisan": (
            "db:wipe",
            "horizon:clear",
            "migrate:fresh",
            "migrate:refresh",
            "migrate:reset",
            "migrate:rollback",
            "model:prune",
            "queue:clear",
            "queue:flush",
            "queue:forget",
        ),
        "console": ("doctrine:database:drop", "doctrine:schema:drop"),
        "ace": (
            "db:wipe",
            "db:truncate",
            "migration:fresh",
            "migration:refresh",
            "migration:reset",
            "migration:rollback",
        ),
    }
)

_VALUED = frozenset(("--database", "--settings", "--pythonpath", "--verbosity", "-v"))


def managed(reading: Reading, script: Value, words: Sequence[Value]) -> None:
    """Add what the verb among `words` means, which the script is given."""
    name = posixpath.basename(script.text) if script.fixed else ""
    told_outcome(reading, name, words)
    if name not in _CODE:
        return
    # Options may stand before the verb, with values of their own.
    texts = [word.text if word.fixed else "*" for word in words]
    if any(text == "*" for text in texts[:1]) or _any(texts, _CODE[name]):
        reading.run(RunsCode.INLINE)
    if _any(texts, _EMPTIES[name]):
        reading.ask(f"`{name}`: it empties a database")
    if name == "artisan" and _any(texts, ("key:generate",)) and "--show" not in texts:
        reading.ask("`artisan key:generate`: what was encrypted with the key that it replaces cannot be read again")
    if name == "manage.py" and _goes_back(texts):
        reading.ask("`manage.py migrate`: to an older state it takes data out of a database")


def _goes_back(texts: Sequence[str]) -> bool:
    """`migrate APP NAME`: which state of the two is the older one, the database says; `zero` is before all."""
    rest = texts[texts.index("migrate") + 1 :] if "migrate" in texts else []
    if not {"--plan", "--help", "--check"}.isdisjoint(rest):
        return False
    rest = [text for at, text in enumerate(rest) if not (at and rest[at - 1] in _VALUED)]
    return len([text for text in rest if not text.startswith("-")]) > 1


def _any(texts: Sequence[str], patterns: Sequence[str]) -> bool:
    at = next((index for index, text in enumerate(texts) if not text.startswith("-")), len(texts))
    return any(fnmatchcase(text, pattern) for text in texts[: at + 2] for pattern in patterns)
