"""JavaScript without comments, regular expressions, divisions and templates: other code that can do as much.

A slash begins any of three things, by what stands before it; who takes it for another reads all behind it wrong. So
the code is read from its beginning, and left as it is where a slash could be two of them. A regular expression becomes
an empty text, which has the same methods or fewer; a division becomes a product; a template becomes a sum, which asks
the same of a value; and functions that are taken out of `fs` by their names become what they are (ECMAScript, "Lexical
Grammar").
"""

import re

from shield.regex import regex

__all__ = ["plainer"]

_SPACE = regex(r"[ \t\n]+")
_NOTE = regex(r"//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/")
_STRING = regex(r"'(?:[^'\\\n]|\\[^\n])*'|\"(?:[^\"\\\n]|\\[^\n])*\"")
_TEXT = regex(r"(?:[^`\\$]|\\[\s\S]|\$(?!\{))*")
_EXPRESSION = regex(r"/(?![*/])(?:[^/\\\[\n]|\\[^\n]|\[(?:[^\]\\\n]|\\[^\n])*\])+/[dgimsuvy]*(?![\w$])")
_WORD = regex(r"[A-Za-z_$][\w$]*")
_NUMBER = regex(r"(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+)n?")
_SIGN = regex(r"=>|\+\+|--|[-+*%<>=!?:,;.(){}&|^~\[\]]")
# Behind these a slash begins an expression; behind other words of the language it could be either.
_ASKS = frozenset(("return", "typeof"))
_WORDS_TEXT = """
await case const delete do else export extends finally for get if import in instanceof let new of return set static
throw try typeof var void while with yield
"""
_WORDS = frozenset(_WORDS_TEXT.split())
_HEADS = frozenset(("if", "for", "while", "with"))
_TAKEN = regex(
    r"(?:(?:const|let|var)\s*\{\s*(?P<some>\w+(?:\s*,\s*\w+)*)\s*,?\s*\}\s*=\s*require\s*\(\s*(['\"])(?:node:)?fs\2\s*\)"
    r"|import\s*\{\s*(?P<others>\w+(?:\s*,\s*\w+)*)\s*,?\s*\}\s*from\s*(['\"])(?:node:)?fs\4)\s*(?:;|\n|\Z)"
)
_KNOWN = frozenset(("appendFileSync", "existsSync", "readFileSync", "readdirSync", "statSync", "writeFileSync"))
_MAX_DEEP = 8


def plainer(code: str) -> str:
    """The same code without these; as it was, where it is not sure what they are."""
    if "\r" in code:
        return code  # it ends a line, too
    reader = _Reader(code)
    found = reader.read(0, "", 0)
    return code if found is None or reader.at != len(code) else _taken(found)


class _Reader:
    """Reads one token after the other. `last`: the newest one; `closed`: what stood before the parenthesis that was
    closed last."""

    def __init__(self, code: str) -> None:
        self.at = 0
        self._code = code
        self._last = self._closed = ""

    def read(self, at: int, end: str, depth: int) -> str | None:
        """All up to `end`, which is left; None where it is not sure what something is."""
        code, parts, heads, braces = self._code, list[str](), list[str](), 0
        self._last = ""
        while at < len(code):
            if end and code[at] == end and not braces:
                self.at = at
                return "".join(parts)
            if match := _SPACE.match(code, at):
                parts.append(match[0])
                at = match.end()
                continue
            if code[at] in "/`":
                piece = self._template(at, depth) if code[at] == "`" else self._slash(at)
                if piece is None:
                    return None
                parts.append(piece)
                at = self.at
                continue
            match = _STRING.match(code, at) or _WORD.match(code, at) or _NUMBER.match(code, at) or _SIGN.match(code, at)
            if match is None:
                return None
            piece = match[0]
            if piece == "(":
                heads.append(self._last)
            elif piece == ")":
                self._closed = heads.pop() if heads else "if"
            braces += (piece == "{") - (piece == "}")
            if braces < 0:
                return None
            parts.append(piece)
            # of a member the name is no word of the language
            self._last = f".{piece}" if self._last in (".", "?.") and _WORD.fullmatch(piece) else piece
            at = match.end()
        self.at = at
        return "".join(parts) if not end else None

    def _slash(self, at: int) -> str | None:
        """A comment, a regular expression or a division."""
        code, last = self._code, self._last
        if match := _NOTE.match(code, at):
            self.at = match.end()
            return "\n" if "\n" in match[0] else " "
        if _begins(last):
            match = _EXPRESSION.match(code, at)
            self.at, self._last = match.end() if match else at, "''"
            return "''" if match else None
        if not _is_value(last) or (last == ")" and self._closed in _HEADS) or code[at + 1 : at + 2] == "=":
            return None
        self.at, self._last = at + 1, "*"
        return "*"

    def _template(self, at: int, depth: int) -> str | None:
        """The text that begins at `at`, as a sum."""
        if _is_value(self._last) or self._last == "}":
            return None  # it is handed to a function
        parts, at = ["(''"], at + 1
        while depth < _MAX_DEEP:
            match = _TEXT.match(self._code, at)
            at = match.end() if match else at
            if self._code.startswith("`", at):
                self.at, self._last, self._closed = at + 1, ")", ""
                return "".join((*parts, ")"))
            if not self._code.startswith("${", at):
                return None
            inner = self.read(at + 2, "}", depth + 1)
            if inner is None or not inner.strip():
                return None
            parts.append(f" + ({inner}) + ''")
            at = self.at + 1
        return None


def _is_value(token: str) -> bool:
    """Whether a slash, or a text, behind it belongs to a value before it."""
    if token in (")", "]"):
        return True
    return bool(token) and (token[0] in "'\".0123456789" or _WORD.fullmatch(token) is not None) and token not in _WORDS


def _begins(token: str) -> bool:
    return not token or token in _ASKS or token in ("(", ",", "=", ":", "[", "!", "&", "|", "?", "{", ";", "=>", "+")


def _taken(code: str) -> str:
    """With `fs.readFileSync` in the place of what `const { readFileSync } = require('fs')` gives that name."""
    found = _TAKEN.search(code)
    if found is None or _TAKEN.search(code, found.end()):
        return code
    if any(text.start() < found.start() < text.end() for text in _STRING.finditer(code)):
        return code
    names = re.split(r"\s*,\s*", found["some"] or found["others"])
    if not _KNOWN.issuperset(names):
        return code
    rest = f"{code[: found.start()]};{code[found.end() :]}"
    named = re.compile(rf"({_STRING.pattern})|(?<![\w$.])({'|'.join(names)})(?![\w$])")
    return named.sub(lambda each: each[1] or f"fs.{each[2]}", rest)
