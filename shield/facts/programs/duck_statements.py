"""What statements for DuckDB read and write: every file that they name, where they do no more than that.

A list of what they may consist of. In DuckDB a text, a quoted name or `name.csv` in the place of a table is a file, or
an address that is fetched (duckdb.org/docs, "Replacement scans", "Importing data", "COPY"). Whoever attacks this should
look for a text that comes to stand in such a place, and for a function that is given a name to open.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, auto

from shield.facts.programs.statements import CALLS, NEVER
from shield.regex import regex

__all__ = ["Touched", "touched"]

_MAX_TEXT = 16_384
_TOKEN = regex(
    r"\s+|'(?:[^']|'')*'|\"[^\"]*\"|[A-Za-z_][A-Za-z0-9_]*(?!['\w])|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w)"
    r"|<=|>=|<>|!=|==|\|\||->|::|:=|=>|[(),.*+\-/%<>=\[\]{}:;]"
)
_STARTS = frozenset(("select", "with", "from", "values", "describe", "desc", "summarize", "show", "explain"))
_CALLS_TEXT = """
any_value approx_count_distinct arg_max arg_min array_length array_to_string bar bit_count concat_ws contains
corr count_if countif covar_pop covar_samp cot date_diff date_sub datepart datetrunc datesub dayname dayofmonth
dayofyear decade editdist3 ends_with entropy epoch epoch_ms era even exp favg first flatten from_hex
format_bytes formatReadableSize fsum gcd histogram isfinite isinf isnan jaccard json_extract_string json_group_array
json_keys json_structure kurtosis last last_day lcm len levenshtein list list_aggregate list_avg list_concat
list_contains list_count list_distinct list_extract list_filter list_has_any list_max list_min list_reverse
list_reverse_sort list_slice list_sort list_sum list_transform list_unique list_value list_zip ln log log10 log2
make_timestamp map map_entries map_keys map_values max_by md5 median min_by mad millisecond monthname nextafter
nfc_normalize parse_filename prefix product quantile quantile_cont quantile_disc quarter range regexp_extract
regexp_extract_all regexp_full_match regexp_matches regexp_replace regexp_split_to_array repeat reservoir_quantile
reverse row_to_json sem sha256 skewness starts_with str_split string_split string_split_regex string_to_array
strip_accents strlen
struct_extract struct_pack suffix sum_no_overflow time_bucket timezone to_days to_hours to_json to_minutes to_months
to_seconds to_timestamp to_years translate trunc try_cast try_strptime strptime unpivot_list uuid week
weekofyear yearweek columns exclude replace values bigint double float boolean timestamp interval struct union_value
filter over within distinct on using as in not and or exists all any
"""
# Tables of what the database holds, by name; not of its settings or secrets.
_KNOWN_TABLES = (
    "duckdb_columns duckdb_constraints duckdb_databases duckdb_functions duckdb_indexes duckdb_schemas duckdb_tables"
    " duckdb_types duckdb_views pragma_version"
)
_CALLS = CALLS | frozenset((*_CALLS_TEXT.lower().split(), *_KNOWN_TABLES.split()))
# Their first argument is a file, or a list of files.
_READS_TEXT = """
read_csv read_csv_auto read_json read_json_auto read_json_objects read_ndjson read_ndjson_auto read_parquet
parquet_scan parquet_schema parquet_metadata sniff_csv
"""
_READS = frozenset(_READS_TEXT.split())
# A file on this machine, by an end for which nothing is fetched first; `s3://`, `hf://` and `https://` have a colon.
_FILE = regex(
    r"/?(?:[A-Za-z0-9_.*?-][A-Za-z0-9_.*?+ -]*/)*[A-Za-z0-9_.*?-][A-Za-z0-9_.*?+ -]*"
    r"\.(?:csv|tsv|txt|json|jsonl|ndjson|parquet)(?:\.(?:gz|zst))?",
)
_ENDS = frozenset(("csv", "tsv", "txt", "json", "jsonl", "ndjson", "parquet", "gz", "zst"))
_TABLE_WORDS = frozenset(("from", "join", "describe", "desc", "summarize", "show"))
_CLAUSES_TEXT = """
select where group having order limit offset qualify window on using values union except intersect returning
sample tablesample
"""
_CLAUSES = frozenset(_CLAUSES_TEXT.split())
# Behind these a table may stand, too, where nothing else says so.
_NEVER = NEVER | {"only", "pivot", "pivot_longer", "pivot_wider", "table", "unpivot"}
# Views of what is set, a key of a store among it, however they are quoted.
_SETTINGS = frozenset(("duckdb_logs", "duckdb_secrets", "duckdb_settings", "duckdb_variables", "pg_settings"))
# Of SQLite's shell, and so of this: on a line of its own it ends a statement.
_LONE = frozenset(("/", "go"))
_COPY_WORDS_TEXT = """
header delimiter delim sep format compression codec quote escape null nullstr csv json parquet true false array
row_group_size force_quote dateformat timestampformat gzip zstd snappy uncompressed
"""
_COPY_WORDS = frozenset(_COPY_WORDS_TEXT.split())
# The shell's own commands, each a line (duckdb.org/docs, "Dot commands"); of the others some start programs.
_DOTTED = regex(
    r"\.(?:tables|databases|help|version|quit|exit|columns|rows|duckbox|mode[ \t]+[a-z]+|width(?:[ \t]+\d+)*"
    r"|maxrows[ \t]+\d+|maxwidth[ \t]+\d+|nullvalue[ \t]+\w+|(?:headers?|bail|echo|timer|changes)[ \t]+(?:on|off)"
    r"|schema(?:[ \t]+\w+)?|indexes|large_number_rendering[ \t]+\w+|prompt[ \t]+\w+|separator[ \t]+[,;|])[ \t]*"
)


@dataclass(slots=True)
class Touched:
    """Files by name; of `reads` patterns, too."""

    reads: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)


class _Place(Enum):
    TABLES = auto()  # behind `from`: what stands for a table may be a file
    OTHER = auto()


def touched(text: str) -> Touched | None:
    """What the statements, and the shell's commands on lines of their own, touch; None where it is not known."""
    if len(text) > _MAX_TEXT or "\0" in text:
        return None
    lines = text.split("\n")
    found = Touched()
    statement = ""
    for line in lines:
        bare = line.strip(" \t\r")
        if bare.lower() in _LONE:
            return None
        if bare.startswith("."):
            # wherever it stands it is one of these, so that where a statement ends does not matter
            if _DOTTED.fullmatch(bare) is None:
                return None
        else:
            statement += line + "\n"
    tokens = _tokens(statement)
    if tokens is None or any(token.strip("'\"").lower() in _SETTINGS for token in tokens):
        return None
    if not all(_statement(each, found) for each in _parted(tokens)):
        return None
    return found


def _tokens(text: str) -> list[str] | None:
    tokens: list[str] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or text.startswith(("--", "/*"), at):
            return None
        at = match.end()
        if not match[0].isspace():
            tokens.append(match[0] if match[0][0] in "'\"" else match[0].lower())
    return tokens


def _parted(tokens: list[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for each in (*tokens, ";"):
        if each != ";":
            part.append(each)
        elif part:
            yield part
            part = []


def _statement(tokens: list[str], found: Touched) -> bool:
    if tokens[0] == "copy":
        return _copy(tokens, found)
    if tokens[0] == "explain":
        tokens = tokens[2:] if tokens[1:2] == ["analyze"] else tokens[1:]
    return bool(tokens) and tokens[0] in _STARTS and _query(tokens, found)


def _copy(tokens: list[str], found: Touched) -> bool:
    """`COPY (query) TO 'file' (options)`: of an option only how the file is written."""
    if tokens[1:2] != ["("] or "to" not in tokens:
        return False
    depth, at = 0, 1
    while at < len(tokens):
        depth += {"(": 1, ")": -1}.get(tokens[at], 0)
        if depth == 0:
            break
        at += 1
    query, rest = tokens[2:at], tokens[at + 1 :]
    if not query or query[0] not in _STARTS or rest[:1] != ["to"] or len(rest) < 2:
        return False
    name = _named(rest[1])
    plain = all(word in _COPY_WORDS or word in ("(", ")", ",") or word[0] in "'0123456789" for word in rest[2:])
    if name is None or not plain or set(name) & set("*?") or not _query(query, found):
        return False
    found.writes.append(name)
    return True


def _query(tokens: list[str], found: Touched) -> bool:
    places = [_Place.OTHER]
    skip = 0
    for at, word in enumerate(tokens):
        if at < skip:
            continue
        before = tokens[at - 1] if at else ""
        following = tokens[at + 1] if at + 1 < len(tokens) else ""
        for_table = before in _TABLE_WORDS or (before == "," and places[-1] is _Place.TABLES)
        fine = True
        if word == "(":
            # `from (…)` may be a query, or tables once more
            nested = before == "(" and places[-1] is _Place.TABLES
            places.append(_Place.TABLES if for_table or nested else _Place.OTHER)
        elif word == ")":
            places.pop()
            fine = bool(places)
        elif word[0] in "'\"":
            alone = following not in ("(", ".") and before != "."
            fine = _text(word, places[-1], found, for_table=for_table, alone=alone)
        elif following == "(" and word in _READS and before != ".":
            skip = _files(tokens, at + 2, found)
            places.append(_Place.OTHER)
            fine = skip > 0
        elif word[0].isalpha() or word[0] == "_":
            fine = _word(tokens, at, places)
        if not fine:
            return False
    return len(places) == 1


def _word(tokens: list[str], at: int, places: list[_Place]) -> bool:
    """Take a bare word: of the grammar, of a function that computes, or a name."""
    word, before, following = tokens[at], tokens[at - 1 : at], tokens[at + 1 : at + 2]
    if word in _NEVER and not (word == "replace" and following == ["("] and at):
        return False
    if following == ["("] and not _is_call(tokens, at):
        return False
    if word in ("from", "join"):
        places[-1] = _Place.TABLES
    elif word in _CLAUSES and before != ["."]:
        places[-1] = _Place.OTHER
    elif following == ["."] and before != ["."] and places[-1] is _Place.TABLES:
        return not _ends_as_file(tokens, at)
    return True


def _text(token: str, place: _Place, found: Touched, *, for_table: bool, alone: bool) -> bool:
    """Take a text, or a name in quotes: for a file, where a table may stand."""
    if token[0] == "'":
        return _take(token, found) if for_table else place is not _Place.TABLES
    if token[1:-1].replace("_", "a").isalnum():
        return alone or place is not _Place.TABLES
    return (for_table and alone and _take(token, found)) or (place is not _Place.TABLES and alone)


def _is_call(tokens: list[str], at: int) -> bool:
    """Whether a name before a parenthesis is a word of the grammar, or a function that computes."""
    if tokens[at - 1 : at] == ["."]:
        return False
    # `(values (1)) as x(a)`: there it names columns
    named = tokens[max(at - 2, 0) : at] == [")", "as"]
    return named or tokens[at] in _CALLS or tokens[at] in _STARTS | _TABLE_WORDS | _CLAUSES


def _ends_as_file(tokens: list[str], at: int) -> bool:
    """`a.csv` in the place of a table: a file of that name, where no schema has such a table."""
    while tokens[at + 1 : at + 2] == ["."]:
        at += 2
    return at >= len(tokens) or tokens[at].strip('"') in _ENDS or not tokens[at].replace("_", "a").isalnum()


def _files(tokens: list[str], at: int, found: Touched) -> int:
    """Take the first argument of a function that reads; answers where the rest begins, 0 where it may be anything."""
    if tokens[at : at + 1] == ["["]:
        end = at + 1
        while end < len(tokens) and tokens[end] != "]":
            if tokens[end] != "," and not (tokens[end][0] == "'" and _take(tokens[end], found)):
                return 0
            end += 1
        at = end
    elif not (at < len(tokens) and tokens[at][0] == "'" and _take(tokens[at], found)):
        return 0
    return at + 1 if tokens[at + 1 : at + 2] and tokens[at + 1] in (",", ")") else 0


def _take(token: str, found: Touched) -> bool:
    name = _named(token)
    if name is not None:
        found.reads.append(name)
    return name is not None


def _named(token: str) -> str | None:
    """The file that a text names; None where it is none, or another place."""
    text = token[1:-1] if token[0] in "'\"" and len(token) > 2 else ""
    return text if len(text) < 1_024 and _FILE.fullmatch(text) is not None else None
