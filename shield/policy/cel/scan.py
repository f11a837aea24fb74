"""From a condition's text to its tokens: size, depth, characters, brackets and literals are checked here.

Source: CEL language definition, "Syntax" and "String and Bytes Values".
"""

import re
from enum import Enum
from typing import NamedTuple

from shield.regex import regex

__all__ = ["MAX_DEPTH", "MAX_SOURCE", "RESERVED", "ScanError", "Token", "TokenKind", "scan"]

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

_TOKEN = regex(
    r"""
    (?P<blank>[ \t\n\f\r]++)
  | (?P<comment>//[^\n]*+)
  | (?P<raw>[bB]?[rR](?:\"\"\"(?s:.*?)\"\"\"|'''(?s:.*?)'''|"(?!"")[^"\r\n]*+"|'(?!'')[^'\r\n]*+'|""|''))
  | (?P<text>[bB]?(?:\"\"\"(?:[^"\\]|\\(?s:.)|"(?!""))*+\"\"\"|'''(?:[^'\\]|\\(?s:.)|'(?!''))*+'''
        |"(?!"")(?:[^"\\\r\n]|\\[^\r\n])*+"|'(?!'')(?:[^'\\\r\n]|\\[^\r\n])*+'|""|''))
  | (?P<number>0x[0-9a-fA-F]++|(?:[0-9]++\.[0-9]++|\.[0-9]++|[0-9]++)(?:[eE][+-]?[0-9]++)?)
  | (?P<name>[_a-zA-Z][_a-zA-Z0-9]*+)
  | (?P<mark>&&|\|\||[<>=!]=|[.,?:!<>+\-*/%()\[\]{}])
    """,
    re.VERBOSE,
)
_ESCAPE = regex(r"\\(?:([abfnrtv\\?\"'`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))")
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
# what other languages write, and here is no operator
_MEANT = {
    "=": "`==` to compare",
    "&": "`&&`",
    "|": "`||`",
    "~": "`text.matches(pattern)`",
    ";": "`&&` between two conditions",
}
_OPENING = {")": "(", "]": "[", "}": "{"}


class ScanError(Exception):
    """The text is refused; `offset` counts code points from its start. `parser.parse` turns it into a load error."""

    def __init__(self, detail: str, offset: int) -> None:
        super().__init__(detail)
        self.detail = detail
        self.offset = offset


class TokenKind(Enum):
    STRING = "string"  # of characters or bytes
    NUMBER = "number"  # its text has a sign where one is written right before it and it follows no value
    NAME = "name"
    MARK = "mark"  # an operator, `in`, a bracket, `.` `,` `:` `?`
    END = "end"


class Token(NamedTuple):
    """`text` is as written, `offset` counts code points; `value` is what a string literal stands for."""

    kind: TokenKind
    text: str
    offset: int
    value: str | bytes = ""


def scan(source: str) -> list[Token]:
    """The tokens of `source`, blanks and comments left out; the last is the END, where the last other one ends.

    Raises ScanError: too large, too deep, unbalanced, an unknown character or escape, two values side by side.
    """
    if len(source) > MAX_SOURCE or len(source.encode("utf-8", "surrogatepass")) > MAX_SOURCE:
        raise ScanError(f"the condition is longer than {MAX_SOURCE} bytes: split it into several rules", 0)
    tokens: list[Token] = []
    stack: list[Token] = []
    offset = last = 0
    before = ""  # `value` where the token before ends one, else its text
    while offset < len(source):
        kind, end = _next(source, offset, before)
        text = source[offset:end]
        match kind:
            case "blank" | "comment":
                offset = end
                continue
            case "raw" | "text":
                _operand(before, offset)
                token = Token(TokenKind.STRING, text, offset, _decode(text, offset))
            case "number":
                _operand(before, offset)
                _number(source[end : end + 1], offset)
                token = Token(TokenKind.NUMBER, text, offset)
            case "name" if _is_name(text, before, offset):
                token = Token(TokenKind.NAME, text, offset)
            case _:
                token = Token(TokenKind.MARK, text, offset)
                _bracket(token, stack)
        before = text if token.kind is TokenKind.MARK and text not in _OPENING else "value"
        tokens.append(token)
        offset = last = end
    if stack:
        raise ScanError(f"`{stack[-1].text}` is never closed", stack[-1].offset)
    if not tokens:
        raise ScanError("the condition is empty", 0)
    tokens.append(Token(TokenKind.END, "", last))
    return tokens


def _next(source: str, offset: int, before: str) -> tuple[str, int]:
    """The kind of the next token, blanks and comments among them, and where it ends."""
    found = _TOKEN.match(source, offset)
    if found is None or found.lastgroup is None:
        raise ScanError(_unknown(source, offset), offset)
    if found.group() == "-" and before != "value":
        signed = _TOKEN.match(source, found.end())
        if signed is not None and signed.lastgroup == "number":
            return "number", signed.end()
    return found.lastgroup, found.end()


def _bracket(token: Token, stack: list[Token]) -> None:
    """Keep the brackets that are open."""
    if token.text in _OPENING.values():
        if len(stack) == MAX_DEPTH:
            raise ScanError(f"more than {MAX_DEPTH} brackets inside one another", token.offset)
        stack.append(token)
    elif token.text in _OPENING and (not stack or stack.pop().text != _OPENING[token.text]):
        raise ScanError(f"`{token.text}` closes nothing", token.offset)


def _unknown(source: str, offset: int) -> str:
    if source[offset] in "\"'":
        return "the string is never closed, or a single-quoted one holds a line break"
    if source[offset] == "`":
        return "names in backticks are not supported: write an index such as x['a-b']"
    meant = _MEANT.get(source[offset])
    return f"unexpected character {source[offset]!a}" + ("" if meant is None else f": write {meant}")


def _operand(before: str, offset: int) -> None:
    if before == "value":
        raise ScanError("two values side by side: an operator is missing", offset)


def _number(following: str, offset: int) -> None:
    if following in ("u", "U"):
        raise ScanError("unsigned numbers are not supported: leave out the `u`", offset)
    if following and (following in "._" or following.isalnum()):
        raise ScanError("malformed number: an operator or more digits are missing", offset)


def _is_name(text: str, before: str, offset: int) -> bool:
    """Whether the word is a name or a literal; `in` is an operator."""
    if text in KEYWORDS and before == ".":
        raise ScanError(f"`{text}` is a keyword: write an index such as x['{text}']", offset)
    if text == "in":
        return False
    _operand(before, offset)
    return True


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
