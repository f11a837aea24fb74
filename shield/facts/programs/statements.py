"""Whether statements for a database surely only read: a list of what they may consist of, not of what they may not.

Client commands are read for the clients of SQLite (`.tables`) and PostgreSQL (`\\d`), each as the whole of the text.
"""

import re

from shield.regex import regex

__all__ = ["CALLS", "NEVER", "copied_to", "only_lists", "only_reads"]

_MAX_TEXT = 8_192
_TOKEN = regex(
    r"\s+|'(?:[^'\\]|'')*'|\"(?:[^\"\\]|\"\")*\"|`[^`\\]*`|[A-Za-z_][A-Za-z0-9_$]*|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
    r"|<=|>=|<>|!=|==|\|\||->>|->|::|[(),.*+\-/%<>=\[\]?]|;"
)
_STARTS = frozenset(("select", "with", "values", "explain", "show", "describe", "desc"))
# After these words a statement writes, locks or runs: as a name of a column they need no bare word.
_NEVER_TEXT = """
insert update delete replace merge upsert into create drop alter truncate rename attach detach vacuum reindex analyze
analyse pragma grant revoke call do exec execute copy load outfile dumpfile lock unlock set reset begin commit rollback
savepoint release listen notify import refresh cluster comment security handler install uninstall kill flush purge for
procedure function trigger language program returning declare fetch move prepare deallocate discard
"""
NEVER = frozenset(_NEVER_TEXT.split())
# Tables of SQLite's shell that read files: `SELECT data FROM fsdir WHERE path = '…'`.
_FILES = regex(r"\b(?:fsdir|lsdir|zipfile|archive|csv|vsv)\b", re.IGNORECASE)
# What may stand before a parenthesis: words of the grammar, and functions that compute (SQLite, PostgreSQL, MySQL).
_CALLS_TEXT = """
in as and or not on over exists any all some values union except intersect select from where by having between like
ilike when then else case filter partition order group limit offset join using with recursive distinct is within array
row count sum avg min max total abs round ceil ceiling floor sqrt power mod sign random coalesce nullif ifnull iif if
greatest least length char_length character_length octet_length lower upper trim ltrim rtrim btrim substr substring
left right lpad rpad concat concat_ws group_concat string_agg array_agg json_agg jsonb_agg
split_part instr strpos position printf format hex unhex quote char unicode ascii chr initcap date time datetime
julianday strftime unixepoch date_trunc date_part extract age now to_char to_date to_timestamp make_date year month day
hour minute second dayofweek weekday datediff date_add date_sub date_format cast convert typeof pg_typeof
row_number rank dense_rank percent_rank cume_dist ntile lag lead first_value last_value nth_value percentile_cont
percentile_disc mode median stddev variance stddev_pop stddev_samp var_pop var_samp bool_and bool_or every json_extract
json_array json_object json_array_length json_type json_valid json_each json_tree jsonb_array_elements jsonb_each
jsonb_object_keys json_array_elements json_each_text jsonb_each_text unnest generate_series width_bucket trunc
pg_size_pretty pg_database_size pg_relation_size pg_total_relation_size pg_table_size version current_database
current_schema database schema user found_rows last_insert_rowid changes total_changes sqlite_version varchar replace
decimal numeric integer int text
"""
CALLS = frozenset(_CALLS_TEXT.split())
_SQLITE = regex(
    r"\s*\.(?:tables|schema|fullschema|dump|indexes|indices|databases|dbinfo|show|mode\s+[a-z]+|width(?:\s+\d+)*|help|version"
    r"|(?:bail|changes|echo|eqp|explain|headers?|timer)\s+(?:on|off))(?:\s+[\w%]+)?\s*",
)
# Of these none reads anything but names in the schema, whatever is in it: `.schema` and `.fullschema` read views.
_SQLITE_NAMES = regex(r"\s*\.(?:tables|indexes|indices|databases|show|help|version)(?:\s+[\w%]+)?\s*")
_POSTGRES = regex(r"\s*\\(?:d[tivsmnufxDlp]?[S+]{0,2}|l\+?|dt\+?|conninfo|encoding|x|timing)(?:\s+[\w.*]+)?\s*")
_PRAGMA = regex(
    r"\s*pragma\s+(?:table_info|table_xinfo|table_list|index_list|index_info|foreign_key_list|database_list|user_version"
    r"|integrity_check|quick_check|foreign_key_check|compile_options)(?:\s*\(\s*['\"]?\w+['\"]?\s*\))?\s*;?\s*",
    re.IGNORECASE,
)
_COMMAND_LINE = regex(r"^\s*[.\\]", re.MULTILINE)
_SHOW = regex(
    r"\s*(?:show\s+(?:(?:full\s+)?(?:tables|databases|schemas|columns|index|indexes|keys|processlist|status|variables|engines)"
    r"|create\s+table|all|server_version|[a-z_.]+)(?:\s+(?:from|in|like)\s+(?:[\w.`]+|'[^'\\]*'))*\s*(?:[\w.`]+)?"
    r"|(?:describe|desc)\s+[\w.`]+)\s*;?\s*",
    re.IGNORECASE,
)
# How PostgreSQL and MySQL are asked what they would do; with `analyze` they do it, which of a query is to read.
_OPTION = r"(?:analy[sz]e|buffers|costs|generic_plan|memory|settings|summary|timing|verbose|wal|format)(?:\s+[a-z01]+)?"
_EXPLAIN = regex(
    rf"\s*explain(?:\s*\(\s*{_OPTION}\s*(?:,\s*{_OPTION}\s*)*\)\s*|(?:\s+(?:analy[sz]e|verbose))+\s+|\s+format\s*=\s*[a-z]+\s+)"
    r"(?=\(*\s*(?:select|with|values)\b)",
    re.IGNORECASE,
)
# psql's own `\copy`: to its end the line is that command's (psql(1)). `program` would start one.
_COPY = regex(
    r"\s*\\copy\s+\((?P<query>[^\n\\]+)\)\s+to\s+(?:'(?P<file>[A-Za-z0-9_./][A-Za-z0-9_./+-]*)'|stdout)"
    r"(?:\s+(?:with|csv|header|\(\s*format\s+(?:csv|text)\s*(?:,\s*header\s*(?:true|on)?\s*)?\)))*\s*(?:;\s*)?",
    re.IGNORECASE,
)


def only_reads(text: str) -> bool:
    """Whether every statement of `text` is a query made of known words alone. Comments and backslashes are not."""
    if len(text) > _MAX_TEXT or not text.strip():
        return False
    if any(form.fullmatch(text) for form in (_SQLITE, _POSTGRES)):
        return True
    if _COMMAND_LINE.search(text) or _FILES.search(text):
        return False
    # Of a text with a semicolon in quotes the pieces have quotes without an end, which nothing here matches.
    pieces = [piece for piece in text.split(";") if piece.strip()]
    return _only_queries(text) or (bool(pieces) and all(map(_asks, pieces)))


def _asks(statement: str) -> bool:
    """Whether it shows something, or would show how something is found, with at most the finding done."""
    if any(form.fullmatch(statement) for form in (_PRAGMA, _SHOW)):
        return True
    planned = _EXPLAIN.match(statement)
    return _only_queries(statement[planned.end() :] if planned is not None else statement)


def copied_to(text: str) -> str | None:
    """The file into which psql's `\\copy` puts what a query finds, `-` for its output; None if it is anything else."""
    found = _COPY.fullmatch(text) if len(text) <= _MAX_TEXT else None
    if found is None or not only_reads(found["query"]) or ";" in found["query"]:
        return None
    depth = 0
    for token in _TOKEN.finditer(found["query"]):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth < 0:
            return None  # what stands behind it is no part of the query
    return (found["file"] or "-") if depth == 0 else None


def _only_queries(text: str) -> bool:
    statements: list[list[str]] = [[]]
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        # Two dashes begin a comment, and so does a slash with a star: what follows may be read in several ways.
        if found is None or text.startswith(("--", "/*"), at):
            return False
        at = found.end()
        piece = found[0]
        if piece == ";":
            statements.append([])
        elif not piece.isspace():
            statements[-1].append(piece)
    return all(_query(statement) for statement in statements if statement) and any(statements)


def only_lists(text: str) -> bool:
    """Whether `text` is a command of SQLite's shell that shows names, or nothing of the database at all."""
    return _SQLITE_NAMES.fullmatch(text) is not None


def _query(tokens: list[str]) -> bool:
    words = [token.lower() for token in tokens]
    if words[0] not in _STARTS - {"show", "describe", "desc"}:
        return False
    for index, word in enumerate(words):
        following = words[index + 1] if index + 1 < len(words) else ""
        named = word[0].isalpha() or word[0] in '_"`'
        before = words[index - 1] if index else ""
        if named and following == "(" and (word not in CALLS or before == "."):
            # A table's name may stand there, too: `WITH x(a) AS …`. What it is cannot be told from a call.
            return False
        if word == "]" and following == "(":  # SQLite takes `[readfile]` for a name
            return False
        if word in NEVER and not (word == "replace" and following == "(" and index):
            return False
    return True
