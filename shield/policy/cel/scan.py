"""The first look at a condition's text, before any parser: size, depth, characters, literals.

cel-python's lexer reads some literals wrongly (raw strings, `\\?`, `\\X41`, newlines in triple quotes) and reads
`a inb` as `a in b`. So every string literal is decoded here, and the parser is given the same text with each literal
replaced by a plain one of equal length and each comment by blanks: its lexer has nothing left to misread.
Source: CEL language definition, "Syntax" and "String and Bytes Values".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["MAX_DEPTH", "MAX_SOURCE", "RESERVED", "Scan", "ScanError", "scan"]

MAX_SOURCE = 8192  # bytes of UTF-8
MAX_DEPTH = 32  # open brackets
KEYWORDS = frozenset({"in", "true", "false", "null"})
RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)

_TOKEN = re.compile(
    r"""
    (?P<blank>[ \t\n\f\r]++)
  | (?P<comment>//[^\n]*+)
  | (?P<raw>[bB]?[rR](?:\"\"\"(?s:.*?)\"\"\"|'''(?s:.*?)'''|"(?!"")[^"\r\n]*+"|'(?!'')[^'\r\n]*+'|""|''))
  | (?P<text>[bB]?(?:\"\"\"(?:[^"\\]|\\(?s:.)|"(?!""))*+\"\"\"|'''(?:[^'\\]|\\(?s:.)|'(?!''))*+'''
        |"(?!"")(?:[^"\\\r\n]|\\[^\r\n])*+"|'(?!'')(?:[^'\\\r\n]|\\[^\r\n])*+'|""|''))
  | (?P<number>0x[0-9a-fA-F]++|(?:[0-9]++\.[0-9]++|\.[0-9]++|[0-9]++)(?:[eE][+-]?[0-9]++)?)
  | (?P<name>[_a-zA-Z][_a-zA-Z0-9]*+)
  | (?P<open>[(\[{])
  | (?P<close>[)\]}])
  | (?P<operator>&&|\|\||[<>=!]=|[.,?:!<>+\-*/%])
    """,
    re.VERBOSE,
)
_ESCAPE = re.compile(
    r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))"
)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class ScanError(Exception):
    """The text is refused; `offset` counts code points from its start. `syntax.parse` turns it into a load error."""

    def __init__(self, detail: str, offset: int) -> None:
        super().__init__(detail)
        self.detail = detail
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Scan:
    """`masked` has the length of the source; `literals` maps a literal's offset to its value."""

    masked: str
    literals: Mapping[int, str | bytes]


def scan(source: str) -> Scan:
    """Read the tokens of `source`.

    Raises ScanError: too large, too deep, unbalanced, an unknown character or escape, two values side by side.
    """
    if len(source) > MAX_SOURCE or len(source.encode("utf-8", "surrogatepass")) > MAX_SOURCE:
        raise ScanError(f"the condition is longer than {MAX_SOURCE} bytes: split it into several rules", 0)
    masked: list[str] = []
    literals: dict[int, str | bytes] = {}
    stack: list[tuple[str, int]] = []
    offset = 0
    before = ""  # kind or text of the token before, blanks and comments left out
    while offset < len(source):
        found = _TOKEN.match(source, offset)
        kind = found.lastgroup if found else None
        if found is None or kind is None:
            raise ScanError(_unknown(source, offset), offset)
        text = found.group()
        shown = text
        match kind:
            case "blank":
                pass
            case "comment":
                shown = " " * len(text)
            case "raw" | "text":
                _operand(before, offset)
                value = _decode(text, offset)
                literals[offset] = value
                shown = "b" * isinstance(value, bytes)
                shown += '"' + "s" * (len(text) - len(shown) - 2) + '"'
                before = "value"
            case "number":
                _operand(before, offset)
                _number(source[found.end() : found.end() + 1], offset)
                before = "value"
            case "name":
                before = _name(text, before, offset)
            case "open":
                if len(stack) == MAX_DEPTH:
                    raise ScanError(f"more than {MAX_DEPTH} brackets inside one another", offset)
                stack.append((text, offset))
                before = text
            case "close":
                if not stack or _CLOSING[stack.pop()[0]] != text:
                    raise ScanError(f"`{text}` closes nothing", offset)
                before = "value"
            case _:
                before = text
        masked.append(shown)
        offset = found.end()
    if stack:
        raise ScanError(f"`{stack[-1][0]}` is never closed", stack[-1][1])
    if not before:
        raise ScanError("the condition is empty", 0)
    return Scan("".join(masked), literals)


def _unknown(source: str, offset: int) -> str:
    if source[offset] in "\"'":
        return "the string is never closed, or a single-quoted one holds a line break"
    if source[offset] == "`":
        return "names in backticks are not supported: write an index such as x['a-b']"
    return f"unexpected character {source[offset]!a}"


def _operand(before: str, offset: int) -> None:
    if before == "value":
        raise ScanError("two values side by side: an operator is missing", offset)


def _number(following: str, offset: int) -> None:
    if following in ("u", "U"):
        raise ScanError("unsigned numbers are not supported: leave out the `u`", offset)
    if following and (following in "._" or following.isalnum()):
        raise ScanError("malformed number: an operator or more digits are missing", offset)


def _name(text: str, before: str, offset: int) -> str:
    if text in KEYWORDS and before == ".":
        raise ScanError(f"`{text}` is a keyword: write an index such as x['{text}']", offset)
    if text == "in":
        return "in"
    _operand(before, offset)
    return "value"


def _decode(text: str, offset: int) -> str | bytes:
    mark = min(text.find(quote) for quote in "\"'" if quote in text)
    prefix, body = text[:mark].lower(), text[mark:]
    width = 3 if body[:3] in ('"""', "'''") else 1
    body = body[width:-width]
    if "\r" in body:
        raise ScanError("a line break in a string must be a plain newline", offset)
    binary = "b" in prefix
    if any("\ud800" <= char <= "\udfff" for char in body):
        raise ScanError("the string holds half a surrogate pair", offset)
    if "r" in prefix:
        return body.encode() if binary else body
    return _unescape_bytes(body, offset) if binary else _unescape(body, offset)


def _unescape(body: str, offset: int) -> str:
    out: list[str] = []
    at = 0
    while at < len(body):
        if body[at] != "\\":
            out.append(body[at])
            at += 1
            continue
        found = _ESCAPE.match(body, at)
        if found is None:
            raise ScanError(f"unknown escape `{body[at : at + 2]}`: write a backslash as `\\\\` or use r'…'", offset)
        simple, *coded, octal = found.groups()
        if simple:
            out.append(_SIMPLE.get(simple, simple))
        else:
            point = int(octal, 8) if octal else int(next(code for code in coded if code), 16)
            if point > 0x10FFFF or 0xD800 <= point <= 0xDFFF:
                raise ScanError(f"`{found.group()}` is no character", offset)
            out.append(chr(point))
        at = found.end()
    return "".join(out)


def _unescape_bytes(body: str, offset: int) -> bytes:
    out = bytearray()
    at = 0
    while at < len(body):
        if body[at] != "\\":
            out += body[at].encode()
            at += 1
            continue
        found = _ESCAPE.match(body, at)
        if found is None or found.group(3) or found.group(4):
            raise ScanError(f"unknown escape `{body[at : at + 2]}` in bytes", offset)
        simple, code, _, _, octal = found.groups()
        if simple:
            out += _SIMPLE.get(simple, simple).encode()
        else:
            out.append(int(octal, 8) if octal else int(code, 16))
        at = found.end()
    return bytes(out)
