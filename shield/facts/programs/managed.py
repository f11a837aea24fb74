"""Scripts by which a framework is managed, under names that every project gives them: which of their verbs are more
than the project's own code."""

import posixpath
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType

from shield.facts.programs.reading import Reading, Value
from shield.types import RunsCode

__all__ = ["managed"]

# What runs code of the line or of its input, and what empties a database.
_CODE: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "manage.py": ("shell", "shell_plus", "dbshell", "shell_ipynb", "runscript"),
        "artisan": ("tinker", "db"),
        "console": ("dbal:run-sql", "doctrine:query:*"),
    }
)
_EMPTIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "manage.py": ("flush", "reset_db", "reset_schema", "clean_pyc", "delete_squashed_migrations"),
        "artisan": ("db:wipe", "migrate:fresh", "migrate:refresh", "migrate:reset", "migrate:rollback"),
        "console": ("doctrine:database:drop", "doctrine:schema:drop"),
    }
)


def managed(reading: Reading, script: Value, words: Sequence[Value]) -> None:
    """Add what the verb among `words` means, which the script is given."""
    name = posixpath.basename(script.text) if script.fixed else ""
    if name not in _CODE:
        return
    # Options may stand before the verb, with values of their own.
    texts = [word.text if word.fixed else "*" for word in words]
    if any(text == "*" for text in texts[:1]) or _any(texts, _CODE[name]):
        reading.run(RunsCode.INLINE)
    if _any(texts, _EMPTIES[name]):
        reading.unknown.append(f"`{name}`: it empties a database")


def _any(texts: Sequence[str], patterns: Sequence[str]) -> bool:
    at = next((index for index, text in enumerate(texts) if not text.startswith("-")), len(texts))
    return any(fnmatchcase(text, pattern) for text in texts[: at + 2] for pattern in patterns)
