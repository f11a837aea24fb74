"""Whether Perl for `perl -ne` and `-pe` surely does no more than match, change and print what it reads (perlrun(1)).

A small grammar of statements; whatever does not fit is no proof. Code gets into a Perl pattern by `(?{…})`, `(??{…})`,
`(*{…})` and interpolated expressions (`@{[…]}`, `${…}`, `$x[…]`): no sigil stands in one but at an end.
"""

import re
from functools import cache

from shield.regex import regex

__all__ = ["perl_proven", "plain_operand", "plain_pattern", "plain_split"]

_MAX_CODE = 500
# A pattern between slashes: `$` only where it is the end of a line, no `@`, no code.
_INSIDE = r"(?:(?!\((?:\?\??|\*\*?)\{)[^/\\$@\n]|\\[^\n]|\$(?=[/)|]))*"


def _between(marks: str) -> str:
    """A pattern that stands between these: none of them is in it."""
    closing, marks = re.escape(marks[-1]), re.escape(marks)
    inside = rf"(?:(?!\((?:\?\??|\*\*?)\{{)[^{marks}\\$@\n]|\\[^\n]|\$(?=[{closing})|]))*"
    return rf"m{marks[:-2] or closing}{inside}{closing}"


_BETWEEN = "|".join((rf"m?/{_INSIDE}/", *map(_between, ("{}", "!", "#", "%", "|", ","))))
_PATTERN = rf"(?:(?:{_BETWEEN})[gimsx]*)"
# In what is put in its place: captures, which no bracket follows.
_PIECE = r"(?:[^/\\$@\n]|\\[^\n]|\$(?:\d|&)(?![\[{]|->))*"
_CHANGE = rf"s/{_INSIDE}/{_PIECE}/[gimsxr]*"
_CHANGES = tuple(
    _CHANGE.replace("/", re.escape(mark)) if mark != "/" else _CHANGE for mark in ("/", "|", ",", "!", "#", "%", ":")
)
_TURN = r"(?:tr|y)/(?:[^/\\\n]|\\[^\n])*/(?:[^/\\\n]|\\[^\n])*/[cdsr]*"
# Of a table of the code's own, by what a plain variable holds.
_ENTRY = r"\$[a-z]\w*\{\$(?:_|\d|[a-z]\w*|F\[-?\d+\])\}(?![\[{]|->)"
_SCALAR = rf"(?:{_ENTRY}|\$(?:_|\.|\d|&|F\[-?\d+\]|[a-z]\w*)(?![\[{{\w]|->|::))"
_TEXT = rf"(?:'[^'\\\n]*'|\"(?:[^\"\\$@\n]|\\[^\n]|{_SCALAR})*\")"
_CALL = rf"(?:length(?:\(\$_\))?|(?:uc|lc|ucfirst|lcfirst|int|abs)\s*\(?\s*{_SCALAR}\s*\)?)"
_VALUE = rf"(?:{_SCALAR}|{_TEXT}|-?\d+(?:\.\d+)?|{_CALL})"
# Groups are atomic: what was read once is not read again another way, so that time stays linear.
_SUM = rf"(?>{_VALUE}(?:\s*(?:[.+*,-]|x)\s*{_VALUE})*+)"
# A string to the right of `=~` would be taken for a pattern.
_COMPARE = rf"{_VALUE}\s*(?:(?:==|!=|<=|>=|<|>|eq|ne|lt|gt)\s*{_VALUE}|[=!]~\s*{_PATTERN})"
_TEST = rf"!?\s*(?>{_PATTERN}|{_COMPARE}|eof|{_SCALAR}(?:\+\+)?|\d+)"
_TESTS = rf"(?>\(?\s*{_TEST}(?:\s*(?:&&|\|\||and|or|\.\.\.?)\s*{_TEST})*+)(?:\s*\))?"
_DOES = (
    rf"(?:printf?(?:\s*\(\s*{_SUM}\s*\)|\s+{_SUM})|print|next|last|{'|'.join(_CHANGES)}|{_TURN}"
    rf"|(?:{_ENTRY}|\$[a-z]\w*)\s*(?:\+\+|(?:\+|-|\.|\*)?=\s*{_SUM})|chomp)"
)
# Each place where it matches, one after the other: another test could hold forever.
_EACH = rf"(?:{_BETWEEN})[imsx]*g[gimsx]*"
_STATEMENT = (
    rf"(?>{_DOES}(?:\s*(?:(?:if|unless)\s*{_TESTS}|while\s*\(?\s*{_EACH}\s*\)?))?|{_TESTS}\s*(?:and|&&)\s*{_DOES})"
)
# What begins a block, in which statements stand and no further block.
_HEAD = rf"(?:(?:if|unless)\s*\(\s*(?>{_TEST}(?:\s*(?:&&|\|\||and|or)\s*{_TEST})*+)|while\s*\(\s*{_EACH})\s*\)\s*\{{"
_ELSE = regex(r"\}\s*else\s*\{")
_BETWEEN_TWO = regex(r"[\s;]*")
# What is printed at the end: a sum, or one for each key of a table.
_TABLE = r"[a-z]\w*"
_BY = rf"\{{\s*\${_TABLE}\{{\$[ab]\}}\s*(?:<=>|cmp)\s*\${_TABLE}\{{\$[ab]\}}\s*\}}\s*"
_KEYS = rf"\s*for(?:each)?\s*\(?\s*(?:reverse\s+)?(?:sort\s+(?:{_BY})?)?keys\s+%{_TABLE}\s*\)?"
# perl sets what is between slashes into `split(…)` as it stands (`-F/x/,eval` runs each line), all else as a string.
_SPLIT = regex(r"[\w:,;|.=+*^#%~\\-]+\Z|/(?:[\w:,;|.=+*^#%~-]|\\[\w|.+*^])+/\Z")
_OPERAND = regex(r"[\w./~][\w./~ @:+=,-]*(?<! )\Z")
# What a name is that matches: its first and last letters are known, and only there `<>` looks for what means more.
_MATCHED = regex(r"[A-Za-z0-9_./][A-Za-z0-9_./-]*[*?][A-Za-z0-9_./*?-]*[A-Za-z0-9_]\Z")


def perl_proven(code: str) -> bool:
    """Whether the code fits the grammar. With a sum at the end: `… END { print $s }`, `… }{ print $s`."""
    return len(code) <= _MAX_CODE and code.isascii() and _fits(code)


def _fits(code: str) -> bool:
    head, statement, tail = _grammar()
    at, inside, ended = 0, False, True  # `ended`: here another statement may begin
    while True:
        between = _BETWEEN_TWO.match(code, at)
        end = between.end() if between is not None else at
        ended |= ";" in code[at:end]
        at = end
        if inside and (found := _ELSE.match(code, at)) is not None:
            at, ended = found.end(), True
        elif inside and code.startswith("}", at):
            at, inside, ended = at + 1, False, True
        elif not inside and ended and (found := head.match(code, at)) is not None:
            at, inside = found.end(), True
        elif ended and (found := statement.match(code, at)) is not None and found.end() > at:
            at, ended = found.end(), False
        else:
            return not inside and tail.match(code, at) is not None


@cache
def _grammar() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """What begins a block, a statement, and all that may stand at the end."""
    # so large that compiling it takes longer than loading a policy: not before there is code to read
    tail = rf"(?:\}}\s*\{{|END\s*\{{)?\s*(?:printf?\s+{_SUM}(?:{_KEYS})?\s*;?\s*\}}?\s*)?\Z"
    return re.compile(_HEAD), re.compile(_STATEMENT), re.compile(tail)


def plain_operand(text: str) -> bool:
    """Whether `<>` opens the file of this name and nothing else: `id|`, `>x` and `<&3` mean something to it (perlop,
    I/O Operators)."""
    return text == "-" or _OPERAND.match(text) is not None


def plain_pattern(text: str) -> bool:
    """The same of every name that a pattern of the shell matches."""
    return _MATCHED.match(text) is not None


def plain_split(text: str) -> bool:
    """Whether `-F` takes this for a pattern and for nothing else."""
    return _SPLIT.match(text) is not None
