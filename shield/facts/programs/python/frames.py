"""Calls by which proven code asks what is installed for more than a value: tables that are written, queries, sums by
name. Each is listed for some arguments only, and is no value for that.
"""

import ast
import re

from shield.facts.programs.duck_statements import touched
from shield.facts.programs.python.files import Files, UnnamedFileError
from shield.facts.programs.python.names import Names
from shield.regex import regex
from shield.types import Access

__all__ = ["UnclearAskError", "asked", "is_data"]

# Files of rows, pages and pictures, which no program takes for its code.
_DATA = regex(
    r"[^\0]*[^/\0]\.(?:csv|tsv|txt|json|jsonl|ndjson|xlsx|ods|parquet|feather|md|html|tex|png|svg|pdf)", re.DOTALL
)
_ADDRESS = regex(r"[A-Za-z][A-Za-z0-9+.-]*:|~|.*::", re.DOTALL)
# Without a first argument these give a text, with one they write a file.
_WRITES_TEXT = """
to_csv to_excel to_feather to_html to_json to_latex to_markdown to_parquet to_string
"""
_WRITES = frozenset(_WRITES_TEXT.split())
_WRITE_KEYWORDS_TEXT = """
columns date_format encoding engine float_format force_ascii freeze_panes header index indent lines lineterminator
merge_cells na_rep orient quoting sep sheet_name startcol startrow
"""
_WRITE_KEYWORDS = frozenset(_WRITE_KEYWORDS_TEXT.split())
_WRITER_KEYWORDS = frozenset(("date_format", "datetime_format", "engine"))
# Other names are those of methods, which are called with what else is given.
_SUMS_TEXT = """
all any count cumsum first last max mean median min nunique prod sem size skew std sum var
"""
_SUMS = frozenset(_SUMS_TEXT.split())


class UnclearAskError(Exception):
    """It is asked for more than is listed."""


def is_data(path: str) -> bool:
    """Whether a file of this name is neither code nor settings to anything."""
    return _DATA.fullmatch(path) is not None


def asked(node: ast.Call, name: str, names: Names, files: Files) -> tuple[ast.expr, ...] | None:
    """The arguments and the receiver that are values like any others, where the call is one of these; else None.

    Raises:
        UnclearAskError: it is, and with these arguments it may do more.
        UnnamedFileError: what it opens is not named by a constant.
    """
    if name in ("pandas.ExcelWriter", "torch.load", "duckdb.connect"):
        _opened(node, name, files)
        return ()
    if name in ("duckdb.sql", "duckdb.query", "duckdb.execute"):
        _queried(node, files)
        return ()
    function = node.func
    if not isinstance(function, ast.Attribute) or name:
        return None
    method = function.attr
    if names.lists("duckdb") and method in ("sql", "query", "execute"):
        _queried(node, files)
        return (function.value,)
    if names.lists("openpyxl") and method == "save":
        _written(node, files, frozenset())
        return (function.value,)
    if not names.lists("pandas"):
        return None
    if method in _WRITES and node.args:
        values = tuple(keyword.value for keyword in node.keywords)
        if len(node.args) == 1 and isinstance(node.args[0], ast.Name) and node.args[0].id in files.writers:
            _keywords(node, _WRITE_KEYWORDS)
        else:
            _written(node, files, _WRITE_KEYWORDS)
        return (function.value, *values)
    if method in ("agg", "aggregate", "transform"):
        if not node.args and not node.keywords:
            raise UnclearAskError
        if not all(map(_sums, node.args)) or not all(_names_sum(keyword) for keyword in node.keywords):
            raise UnclearAskError
        return (function.value,)
    if method in ("apply", "map", "applymap"):
        match node.args:
            case [ast.Lambda() as code]:
                _keywords(node, frozenset(("axis", "na_action", "result_type")))
                return (function.value, code, *(keyword.value for keyword in node.keywords))
        raise UnclearAskError
    return None


def _keywords(node: ast.Call, known: frozenset[str]) -> None:
    if any(keyword.arg not in known for keyword in node.keywords):
        raise UnclearAskError


def _named(node: ast.Call, files: Files) -> tuple[str, ...]:
    texts = files.named(node)
    if any(_ADDRESS.match(text) for text in texts):
        raise UnnamedFileError
    return texts


def _written(node: ast.Call, files: Files, known: frozenset[str]) -> None:
    _keywords(node, known)
    if len(node.args) != 1:
        raise UnclearAskError
    files.take(_named(node, files), Access.WRITE)


def _opened(node: ast.Call, name: str, files: Files) -> None:
    """Of a pickle only weights are loaded, and a database is only read."""
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    if name == "duckdb.connect" and not node.args and not given:
        return
    if len(node.args) != 1 or not all(isinstance(value, ast.Constant) for value in given.values()):
        raise UnclearAskError
    only = {"torch.load": "weights_only", "duckdb.connect": "read_only"}.get(name)
    known = _WRITER_KEYWORDS if only is None else frozenset((only, "map_location"))
    _keywords(node, known)
    sure = given.get(only) if only is not None else None
    if only is not None and not (isinstance(sure, ast.Constant) and sure.value is True):
        raise UnclearAskError
    files.take(_named(node, files), Access.WRITE if only is None else Access.READ)


def _queried(node: ast.Call, files: Files) -> None:
    """What a query for DuckDB reads and writes."""
    match node.args:
        case [ast.Constant(value=str(text))] if not node.keywords:
            found = touched(text)
        case _:
            found = None
    if found is None or text.lstrip().startswith("."):
        raise UnclearAskError
    if any(set(each) & set("*?") for each in found.reads):
        raise UnnamedFileError
    files.take(tuple(found.reads), Access.READ)
    files.take(tuple(found.writes), Access.WRITE)


def _sums(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str(text)):
            return text in _SUMS
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return all(map(_sums, elements))
        case ast.Dict(keys=keys, values=values):
            return all(isinstance(key, ast.Constant) for key in keys) and all(map(_sums, values))
    return False


def _names_sum(keyword: ast.keyword) -> bool:
    """`total=("amount", "sum")`"""
    match keyword:
        case ast.keyword(arg=str(), value=ast.Tuple(elts=[ast.Constant(), how])):
            return _sums(how)
    return False
