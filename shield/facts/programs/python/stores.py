"""Archives, databases and tables that proven Python code opens by a constant name, and how."""

import ast
import re

from shield.facts.programs.python.installed import READER_KEYWORDS, READERS
from shield.facts.programs.statements import only_reads
from shield.regex import regex
from shield.types import Access

__all__ = ["ARCHIVES", "STORES", "UnclearStoreError", "queries", "stored"]

_CONNECTS = "sqlite3.connect"
ARCHIVES = frozenset(("tarfile.open", "zipfile.ZipFile"))
STORES = frozenset((*ARCHIVES, *READERS, _CONNECTS))
_MODES = frozenset(("r", "r:", "r:*", "r:bz2", "r:gz", "r:xz"))
# pandas takes any of these for an address, with or without slashes: `file:/etc/x` is one, and so is `http:/x`.
_ADDRESS = regex(r"[A-Za-z][A-Za-z0-9+.-]*:")
_URI = regex(r"file:([\w./-]+)\?(?:immutable=1&)?mode=ro(?:&immutable=1)?", re.ASCII)

# Names with what is done to them, and the arguments that are values like any others.
_Stored = tuple[tuple[tuple[str, Access], ...], tuple[ast.expr, ...]]


class UnclearStoreError(Exception):
    """It is opened in a way that is not listed."""


def stored(node: ast.Call, name: str, texts: tuple[str, ...]) -> _Stored:
    """What a call of one of STORES does to the files of these names.

    Raises:
        UnclearStoreError: it may do more.
    """
    if name in READERS:
        return _table(node, texts)
    return (_database(node, texts) if name == _CONNECTS else _archive(node, texts)), ()


def queries(statement: str) -> bool:
    """Whether SQLite does no more than read for it, and what it reads is in the database."""
    return only_reads(statement) and not statement.lstrip().startswith((".", "\\"))


def _archive(node: ast.Call, texts: tuple[str, ...]) -> tuple[tuple[str, Access], ...]:
    modes = [*node.args[1:], *(keyword.value for keyword in node.keywords)]
    known = all(isinstance(mode, ast.Constant) and mode.value in _MODES for mode in modes)
    if not known or any(keyword.arg != "mode" for keyword in node.keywords):
        raise UnclearStoreError
    return tuple((text, Access.READ) for text in texts)


def _table(node: ast.Call, texts: tuple[str, ...]) -> _Stored:
    """Neither at an address nor beneath a home, as these readers take names for both."""
    if len(node.args) != 1 or any("::" in text or _ADDRESS.match(text) or text.startswith("~") for text in texts):
        raise UnclearStoreError
    if any(keyword.arg not in READER_KEYWORDS for keyword in node.keywords):
        raise UnclearStoreError
    return tuple((text, Access.READ) for text in texts), tuple(keyword.value for keyword in node.keywords)


def _database(node: ast.Call, texts: tuple[str, ...]) -> tuple[tuple[str, Access], ...]:
    """It is made where there is none."""
    keywords = {keyword.arg: keyword.value for keyword in node.keywords}
    if len(node.args) != 1 or not keywords.keys() <= {"check_same_thread", "timeout", "uri"}:
        raise UnclearStoreError
    if not all(isinstance(value, ast.Constant) for value in keywords.values()):
        raise UnclearStoreError
    found: list[tuple[str, Access]] = []
    for text in texts:
        uri = _URI.fullmatch(text) if "uri" in keywords else None
        if uri is not None:
            found.append((uri[1], Access.READ))
        elif text.startswith("file:") or "uri" in keywords:
            raise UnclearStoreError
        elif text != ":memory:":
            found += [(text, Access.READ), (text, Access.WRITE)]
    return tuple(found)
