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
_PATTERN = rf"(?:m?/{_INSIDE}/[gimsx]*)"
# In what is put in its place: captures, which no bracket follows.
_PIECE = r"(?:[^/\\$@\n]|\\[^\n]|\$(?:\d|&)(?![\[{]|->))*"
_CHANGE = rf"s/{_INSIDE}/{_PIECE}/[gimsxr]*"
_CHANGES = tuple(
    _CHANGE.replace("/", re.escape(mark)) if mark != "/" else _CHANGE for mark in ("/", "|", ",", "!", "#", "%", ":")
)
_TURN = r"(?:tr|y)/(?:[^/\\\n]|\\[^\n])*/(?:[^/\\\n]|\\[^\n])*/[cdsr]*"
_SCALAR = r"\$(?:_|\.|\d|&|F\[-?\d+\]|[a-z]\w*)(?![\[{\w]|->|::)"
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
    rf"(?:print(?:\s*\(\s*{_SUM}\s*\)|\s+{_SUM})?|next|last|{'|'.join(_CHANGES)}|{_TURN}"
    rf"|\$[a-z]\w*\s*(?:\+\+|(?:\+|-|\.|\*)?=\s*{_SUM})|chomp)"
)
_STATEMENT = rf"(?>{_DOES}(?:\s*(?:if|unless)\s*{_TESTS})?|{_TESTS}\s*(?:and|&&)\s*{_DOES})"
# perl sets what is between slashes into `split(…)` as it stands (`-F/x/,eval` runs each line), all else as a string.
_SPLIT = regex(r"[\w:,;|.=+*^#%~\\-]+\Z|/(?:[\w:,;|.=+*^#%~-]|\\[\w|.+*^])+/\Z")
_OPERAND = regex(r"[\w./~][\w./~ @:+=,-]*(?<! )\Z")
# What a name is that matches: its first and last letters are known, and only there `<>` looks for what means more.
_MATCHED = regex(r"[A-Za-z0-9_./][A-Za-z0-9_./-]*[*?][A-Za-z0-9_./*?-]*[A-Za-z0-9_]\Z")


def perl_proven(code: str) -> bool:
    """Whether the code fits the grammar. With a sum at the end: `… END { print $s }`, `… }{ print $s`."""
    return len(code) <= _MAX_CODE and code.isascii() and _grammar().match(code) is not None


@cache
def _grammar() -> re.Pattern[str]:
    # so large that compiling it takes longer than loading a policy: not before there is code to read
    return re.compile(
        rf"\s*(?:{_STATEMENT}\s*;\s*)*+(?:{_STATEMENT})?\s*;?\s*(?:\}}\s*\{{|END\s*\{{)?\s*(?:print\s+{_SUM}\s*;?\s*\}}?\s*)?\Z"
    )


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
