"""duckdb: statements on its line or its input, over files that they name or a database of the workspace.

Without a database nothing is touched but those files. What views and functions of a database come to, only DuckDB can
read: with one it is code of the workspace that runs.
"""

import posixpath
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.beneath import Look
from shield.facts.guards import inside
from shield.facts.paths import resolve_path, resolved_roots
from shield.facts.programs.duck_statements import touched
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Value
from shield.regex import regex
from shield.types import Access, RunsCode

__all__ = ["DUCKDB"]

# No address: `md:`, `ducklake:` and `https:` are looked up elsewhere, by what is fetched.
_DATABASE = regex(r"/?(?:[A-Za-z0-9_.][A-Za-z0-9_. +-]*/)*[A-Za-z0-9_.][A-Za-z0-9_. +-]*")
_MEMORY = ("", ":memory:")
_PATTERN = frozenset("*?")


def _duckdb(call: Invocation) -> bool:
    reading, operands = call.reading, list(call.operands)
    codes = [*call.arguments.values("-cmd"), *call.arguments.values("-c", "-s"), *operands[1:]]
    ends = call.arguments.has("-c", "-s") or bool(operands[1:])
    if not ends:
        context = call.context
        if context.stdin is None or not context.whole or context.fetched:
            reading.caution()
            reading.unknown.append(f"`{call.name[:80]}`: without statements it takes them from its input")
        else:
            codes.append(Value(text=context.stdin, head=context.stdin))
    found = [touched(each.text) if each.fixed else None for each in codes]
    database = operands[0] if operands else Value(text="")
    memory = database.fixed and database.text in _MEMORY
    known = memory or (database.fixed and _DATABASE.fullmatch(database.text) is not None)
    if not memory:
        reading.use(Use.READ if call.arguments.has("-readonly") and known else Use.EDIT, database)
    for code, each in zip(codes, found, strict=True):
        if each is None or not known:
            reading.use(Use.CODE, code)
            continue
        for name in each.reads:
            _read(call, name)
        for name in each.writes:
            reading.path(Value(text=name, head=name), Access.WRITE)
    if not memory or _started_with(call):
        reading.run(RunsCode.WORKSPACE)
    return True


def _read(call: Invocation, name: str) -> None:
    """A file, or all that a pattern fits, which DuckDB reads itself."""
    if not _PATTERN & set(name):
        call.reading.path(Value(text=name, head=name), Access.READ)
        return
    parts = name.split("/")
    known = next(at for at, part in enumerate(parts) if _PATTERN & set(part))
    folder = "/".join(parts[:known]) or ("/" if name.startswith("/") else ".")
    last = known == len(parts) - 1 and "**" not in name
    look = Look(only=(parts[-1],), follows=True) if last else Look(follows=True)
    call.reading.path(Value(text=folder, head=folder), Access.READ, recursive=True, look=look)


def _started_with(call: Invocation) -> bool:
    """Whether commands lie in the workspace that it runs at its start."""
    place = call.context.place
    found = resolve_path(posixpath.join(place.home, ".duckdbrc"), place, base=None, expand_tilde=False)
    return found.path is None or inside(found.path, resolved_roots(place))


DUCKDB: Mapping[str, Special] = MappingProxyType({"duckdb": _duckdb})
