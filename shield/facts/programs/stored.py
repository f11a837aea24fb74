"""What a SQLite database brings along: a view, trigger, CHECK or virtual table of its schema runs with any statement.

The shell of SQLite has functions that start programs and change files: `CREATE VIEW v AS SELECT edit('', 'PROGRAM')`
starts one at `SELECT * FROM v`, and where the view is called `pragma_module_list`, at `.schema x` (tried with 3.40.1).
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from types import MappingProxyType

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.guards import inside
from shield.facts.paths import resolve_path, resolved_roots
from shield.facts.place import Place
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import PathUse, Value
from shield.facts.programs.sqlite_shell import Told, told
from shield.facts.programs.statements import CALLS, only_lists, only_reads
from shield.facts.snapshot import Snapshot
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["STORED", "harmless", "schema"]

_MAX_DATABASE = 33_554_432
_MAX_IN_ALL = 67_108_864  # bytes of all databases of one action
_MAX_SQL = 65_536  # of one entry
_MAX_STEPS = 50  # thousands of the database engine's steps
_SPENT = ("", "schemas")
_MAGIC = b"SQLite format 3\0"
# A database may stand at the end of another file, and an archive is taken for one (the shell's `deduceDatabaseType`).
_ELSEWHERE = (b"Start-Of-SQLite3-", b"PK\5\6")
_URI = regex(r"file:(?://(?:localhost)?(?=/))?([^?#%]+)(?:\?(?:(?:mode|cache|immutable|nolock)=\w+&?)*)?")
_TOKEN = regex(
    r"(?P<space>[ \t\n\f\r]+|--[^\n]*|/\*.*?\*/)|(?P<text>'(?:[^']|'')*')|(?P<bare>[^\W\d][\w$]*)"
    r"|(?P<quoted>\"(?:[^\"]|\"\")*\"|`(?:[^`]|``)*`|\[[^\]]*\])|(?P<other>[0-9][\w.]*|[-+*/%<>=!|&~(),;.])",
    re.DOTALL,
)
_WORDS_TEXT = """
abort always between bigint binary bit blob bool boolean changes check clob collate conflict default do double enum
fail float generated glob ignore int2 int8 into key likelihood likely match materialized mediumint nchar nothing number
nvarchar primary raise random randomblob references regexp real returning rollback set sign smallint string timestamp
tinyint unhex unique unlikely unsigned uuid values varbinary varying json json_group_array json_group_object json_insert
json_patch json_quote json_remove json_replace json_set sqlite_source_id subtype total zeroblob
"""
_WORDS = CALLS | frozenset(_WORDS_TEXT.split())
# After these a name with a parenthesis is that of a table, and nothing else (SQLite's grammar).
_BEFORE_TABLE = frozenset(("table", "exists", "into", "references"))
_FILES = frozenset(("fsdir", "lsdir", "zipfile"))
_MODULES = frozenset(("fts3", "fts4", "fts4aux", "fts5", "fts5vocab", "geopoly", "rtree", "rtree_i32"))
_VIRTUAL = regex(
    r"(?is)create\s+virtual\s+table\s+(?:if\s+not\s+exists\s+)?(?:\w+|\"[^\"]*\"|'[^']*'|\[[^\]]*\]|`[^`]*`)\s+using\s+(\w+)(.*)"
)


def _sqlite(call: Invocation) -> bool:
    """sqlite3 DATABASE STATEMENTS: what the statements do, and what the schema adds to them."""
    first = call.operands[:1]
    statements = [*call.operands[1:], *(each for each in first if each.several), *call.arguments.values("-cmd")]
    if len(call.operands) <= 1:
        fed = _fed(call)
        if fed is None:
            call.reading.caution()
            call.reading.unknown.append(f"`{call.name[:80]}`: without statements it takes them from its input")
        else:
            statements.append(Value(text=fed, head=fed))
    if not all(each.fixed and (only_reads(each.text) or _is_known(each.text)) for each in statements):
        for each in statements:
            call.reading.use(Use.SQL, each)
        return False  # they are code themselves
    _adds(call, [said for each in statements if (said := told(each.text)) is not None])
    lists = all(only_lists(each.text) for each in statements)
    if call.operands and call.operands[0].text[:5].lower() == "file:" and not _URI.fullmatch(call.operands[0].text):
        call.reading.caution()
        call.reading.unknown.append(f"which file `{call.operands[0].text[:80]}` is, is not known")
    known = lists or not call.operands or all(_plain(call, base) for base in call.context.bases)
    if not known or _started_with(call):
        call.reading.run(RunsCode.WORKSPACE)
    return False


def _fed(call: Invocation) -> str | None:
    """What it takes from its input; None where that is not known."""
    context = call.context
    if context.opened is None:
        return context.stdin if context.whole and not context.fetched else None
    stat = context.place.files.lstat(context.opened)
    if stat is None or stat.kind is not FileKind.FILE:
        return None
    content = context.place.files.read(context.opened, _MAX_SQL)
    _bind(call, context.opened)
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return None


def _is_known(text: str) -> bool:
    """Whether all that is said only queries, adds rows and tables, or sets how something is shown."""
    said = told(text)
    return said is not None and all(harmless(each) for each in said.adding)


def _adds(call: Invocation, all_said: Sequence[Told]) -> None:
    """The files that rows are taken from, and the database that they come into."""
    for name in (name for said in all_said for name in said.imports):
        call.reading.path(Value(text=name, head=name), Access.READ)
    if not any(said.writes for said in all_said):
        return
    for database in call.operands[:1]:
        if database.text[:5].lower() == "file:":
            call.reading.caution()
        elif database.text not in ("", ":memory:"):
            call.reading.path(database, Access.WRITE)


def _started_with(call: Invocation) -> bool:
    """Whether commands lie in the workspace that the shell runs at its start; bound, where there are none yet."""
    place = call.context.place
    folder = place.env.get("XDG_CONFIG_HOME") or f"{place.home}/.config"
    for name in (f"{place.home}/.sqliterc", f"{folder}/sqlite3/sqliterc"):
        found = resolve_path(name, place, base=None, expand_tilde=False)
        if found.path is None or (found.exists and inside(found.path, resolved_roots(place))):
            return True
        if inside(found.path, resolved_roots(place)):
            _bind(call, found.path)
    return False


def _plain(call: Invocation, base: str | None) -> bool:
    """Whether the schema of the database is known and harmless. Then it is bound, with what SQLite keeps beside it."""
    place, word = call.context.place, call.operands[0]
    if not word.fixed or word.text in ("", ":memory:"):
        return word.fixed
    uri = _URI.fullmatch(word.text)
    if uri is None and word.text[:5].lower() == "file:":
        return False
    name = uri[1] if uri is not None else word.text
    path = resolve_path(name if name.startswith("/") else f"./{name}", place, base=base, expand_tilde=False).path
    if path is None:
        return False
    try:
        content = _content(path, place)
        # What is not written back yet may be another schema.
        waiting = any(_content(path + end, place) for end in ("-wal", "-journal"))
    except FileSystemUnknownError:
        return False
    entries = None if waiting else schema(content)
    if entries is None or not all(harmless(entry) for entry in entries):
        return False
    for each in (path, f"{path}-wal", f"{path}-journal"):
        _bind(call, each)
    return True


def _bind(call: Invocation, path: str) -> None:
    # INVARIANT: what is judged by its content is bound by it, and no earlier command of the line writes it
    call.reading.paths.append(PathUse(value=Value(text=path, head=path), access=Access.EXECUTE))
    call.reading.operations.add(Operation.EXECUTE)


def _content(path: str, place: Place) -> bytes:
    """Nothing, where there is no file; raises FileSystemUnknownError where it is no file, or too large."""
    stat = place.files.lstat(path)
    if stat is None:
        return b""
    if stat.kind is not FileKind.FILE or stat.size > _MAX_DATABASE:
        raise FileSystemUnknownError
    known = place.files.looked if isinstance(place.files, Snapshot) else {}
    spent = known.get(_SPENT, 0)
    spent = (spent if isinstance(spent, int) else 0) + stat.size
    known[_SPENT] = spent
    content = place.files.read(path, _MAX_DATABASE) if spent <= _MAX_IN_ALL else None
    if content is None:
        raise FileSystemUnknownError
    return content


def schema(content: bytes) -> tuple[str, ...] | None:
    """The statements that a database file keeps; None where that is not known."""
    if not content.startswith(_MAGIC):
        # to SQLite it is no database
        return None if any(mark in content for mark in _ELSEWHERE) else ()
    import sqlite3  # heavy

    if not hasattr(sqlite3.Connection, "deserialize"):
        return None  # SQLite can be built without it
    # The mark of a write-ahead log, which a database in memory cannot have.
    plain = content[:18] + b"\1\1" + content[20:]
    found: list[str] = []
    try:
        with closing(sqlite3.connect(":memory:")) as database:
            database.deserialize(plain)
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_SQL)
            steps = iter(range(_MAX_STEPS))
            database.set_progress_handler(lambda: next(steps, None) is None, 1_000)
            # as SQLite reads it itself, before it knows of any index: none of what the schema says is run by this
            for (text,) in database.execute("SELECT sql FROM main.sqlite_master NOT INDEXED ORDER BY rowid"):
                if text is not None and (not isinstance(text, str) or "\0" in text):
                    return None
                found.append(text or "")
    except (sqlite3.Error, ValueError, OverflowError):
        return None
    return tuple(found)


def harmless(text: str) -> bool:
    """Whether an entry of a schema calls nothing but functions that compute, and reads no other file."""
    virtual = _VIRTUAL.match(text)
    if virtual is not None:
        # fts4 calls functions that its options name: `uncompress=`
        return virtual[1].lower() in _MODULES and "compress" not in virtual[2].lower()
    tokens: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            return False
        at = found.end()
        if found.lastgroup != "space":
            name = found[0][1:-1] if found.lastgroup in ("quoted", "text") else found[0]
            tokens.append((found.lastgroup or "", name.lower()))
    names = {name for kind, name in tokens if kind in ("bare", "quoted")}
    if "virtual" in names and "using" in names and ("bare", "table") in tokens[:4]:
        return False
    # a string is a table's name, too, where one may stand
    return _FILES.isdisjoint(name for _, name in tokens) and all(
        _no_call(tokens, index) for index, (_, following) in enumerate(pairwise(tokens)) if following == ("other", "(")
    )


def _no_call(tokens: list[tuple[str, str]], index: int) -> bool:
    """Whether what stands before a parenthesis is a word of the grammar, a type, a table, or computes."""
    kind, name = tokens[index]
    if kind == "other" or (kind != "text" and name in _WORDS):
        return True
    before = [("other", ""), *tokens[:index]]
    if before[-1] == ("bare", "on"):
        return tokens[0] == ("bare", "create") and ("bare", "index") in tokens[1:3]
    return before[-1][0] == "bare" and before[-1][1] in _BEFORE_TABLE


STORED: Mapping[str, Special] = MappingProxyType({"sqlite": _sqlite})
