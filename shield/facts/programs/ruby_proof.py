"""Whether Ruby for `ruby -e`, `-ne` and `-pe` surely does no more than compute, print and read files that it names.

A list of what may stand in such code, token by token. In Ruby every bare name may be a call, and a symbol may name one:
names of the code's own are of a short list in which no method of `Kernel` is, and a symbol is a name of the same list
as what stands behind a dot. Nothing is put into a text.
"""

import re
from dataclasses import dataclass

from shield.regex import regex

__all__ = ["RubyProof", "ruby_proven"]

_MAX_CODE = 2_000
_TEXT = r"'((?:[^'\\]|\\[\\'])*)'|\"((?:[^\"\\#]|\\[nrt\"])*)\""
_STRING = regex(_TEXT)
_READS = regex(rf"File\s*\.\s*(?:read|readlines|exist\?|size|file\?)\s*\(\s*(?:{_TEXT})\s*\)")
_LISTS = regex(rf"Dir\s*(?:\.\s*glob\s*\(\s*(?:{_TEXT})\s*\)|\[\s*(?:{_TEXT})\s*\])")
_CALLS = regex(
    r"JSON\s*\.\s*(?:parse|generate|pretty_generate)\b|(?:STDIN|\$stdin)\s*\.\s*(?:read|each_line|readlines)\b"
    r"|Math\s*\.\s*(?:sqrt|log|log2|log10|sin|cos|tan|hypot)\b|Time\s*\.\s*(?:now|at)\b|Date\s*\.\s*today\b"
    r"|(?:require\s*\(?\s*['\"](?:json|date|set|time)['\"]\s*\)?)"
)
_SPACE = regex(r"\s+")
_GLOBAL = regex(r"\$(?:_|\.|stdin|[1-9])(?!\w)")
_NUMBER = regex(r"\d[\d_]*(?:\.\d+)?(?!\w)")
# Behind a method's name a slash divides that has a blank behind it, or none before it: `print/system("id")/x`.
_REGEX = regex(r"(?<![\w?!])/(?![\s=])(?:[^/\\\n#]|\\[^\n])*/[imx]*(?!\w)")
_MEMBER = regex(r"&?\.\s*([a-z_]+[?]?)(?![\w!=])")
_SYMBOL = regex(r"&:([a-z_]+[?]?)(?![\w!=])")
_LABEL = regex(r"(symbolize_names|[a-z]{1,3}):(?!:)")
_NAME = regex(r"[A-Za-z_]\w*(?![\w!?])")
_SIGN = regex(r"=>|===?|!=|<=>|<=|>=|<(?!<)|>|&&|\|\||\.\.\.?|\+=|-=|\*=|\*\*|[-+*!|,;{}=(\[]|[?:](?=\s)")
_END = regex(r"[)\]]")  # of a value
_REST = regex(r"%(?= )")  # behind a value: in front of one it begins a text

_OWN_TEXT = """
a b c d data f file g h i j json k key keys l line lines m n name names num o r result row rows s size str t text
total u v val value values w words x y z _
"""
_OWN = frozenset(_OWN_TEXT.split())
_WORDS_TEXT = """
puts print pp p if unless elsif else end then do while in and or not true false nil next BEGIN END RUBY_VERSION
RUBY_PLATFORM RUBY_ENGINE RUBY_PATCHLEVEL RUBY_RELEASE_DATE
"""
_WORDS = frozenset(_WORDS_TEXT.split())
_VALUES = frozenset(("true", "false", "nil", "end"))
_MEMBERS_TEXT = """
abs all? any? between? capitalize ceil chars chomp chr class compact count cycle delete_prefix delete_suffix dig digits
downcase drop each each_char each_line each_slice each_with_index each_with_object empty? end_with? even? fetch filter
find first flat_map flatten floor gcd gsub group_by has_key? hex include? index inspect join key? keys last lcm length
lines ljust lstrip map match? max max_by merge min min_by minmax name none? nil? odd? ord partition pred product reject
reverse rjust rotate round rstrip sample scan select shuffle size slice sort sort_by split squeeze start_with? strftime
strip sub succ sum swapcase take tally times to_a to_f to_h to_i to_s transform_values transpose uniq upcase values
values_at year zip
"""
_MEMBERS = frozenset(_MEMBERS_TEXT.split())


@dataclass(frozen=True, slots=True)
class RubyProof:
    """Files that the code reads, and patterns of names that it looks for, as it names them."""

    reads: tuple[str, ...]
    looks: tuple[str, ...]


def ruby_proven(code: str) -> RubyProof | None:
    """The proof for `code`; None where there is none."""
    if len(code) > _MAX_CODE or not code.isascii() or "`" in code or "__" in code:
        return None
    reads: list[str] = []
    looks: list[str] = []
    assigned = _assigned(code)
    at, valued = 0, False
    while at < len(code):
        if match := _SPACE.match(code, at):
            valued &= "\n" not in match[0]
            at = match.end()
            continue
        if match := _READS.match(code, at) or _LISTS.match(code, at):
            found = next((each for each in match.groups() if each is not None), "")
            (looks if match[0].startswith("Dir") else reads).append(found)
            valued = True
        elif match := _plain_value(code, at):
            valued = True
        elif valued and (match := _REST.match(code, at)):
            valued = False
        elif not valued and (match := _REGEX.match(code, at)):
            valued = True
        elif match := _MEMBER.match(code, at) or _SYMBOL.match(code, at):
            if match[1] not in _MEMBERS or (match[0][0] != "&" and not valued):
                return None
            valued = True
        elif match := _LABEL.match(code, at):
            valued = False
        elif match := _NAME.match(code, at):
            if match[0] not in _WORDS and match[0] not in assigned:
                return None
            valued = match[0] in _OWN | _VALUES or match[0].startswith("RUBY_")
        elif match := _SIGN.match(code, at):
            valued = match[0] == "}"
        else:
            return None
        at = match.end()
    plain = all(name and "\\" not in name and "\0" not in name and name[0] not in "|~" for name in (*reads, *looks))
    return RubyProof(tuple(reads), tuple(looks)) if plain else None


def _assigned(code: str) -> frozenset[str]:
    """Names of the code's own that it gives a value: any other name would be a call."""
    given = set(re.findall(r"\b([a-z_]+)\s*[-+*]?=(?![=~>])", code))
    given.update(name for block in re.findall(r"\|([\w\s,]*)\|", code) for name in re.split(r"[\s,]+", block))
    return frozenset(given & _OWN)


def _plain_value(code: str, at: int) -> re.Match[str] | None:
    for form in (_CALLS, _STRING, _GLOBAL, _NUMBER, _END):
        if match := form.match(code, at):
            return match
    return None
