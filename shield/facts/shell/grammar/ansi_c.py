"""The quotes of ANSI C, `$'…'` (bash(1) QUOTING), which all parsers read alike."""

__all__ = ["ansi_c"]

_SIMPLE_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
}
_NUMERIC_ESCAPES = {"x": (2, 16), "u": (4, 16), "U": (8, 16)}
_KEPT = frozenset("!#$%&()*+,-./:;<=>@[]^_`{|}~")
_HEX = frozenset("0123456789abcdefABCDEF")
_OCTAL = frozenset("01234567")


def ansi_c(body: str) -> str | None:
    """The value of `$'body'` (bash(1) QUOTING); None for a NUL before the end, a byte above 127 or a form that is not
    plain. A NUL at the end ends the text, as it ends bash's."""
    out: list[str] = []
    at = 0
    while at < len(body):
        char = body[at]
        at += 1
        if char != "\\":
            out.append(char)
            continue
        if at == len(body):
            return None
        char = body[at]
        at += 1
        if char in _SIMPLE_ESCAPES:
            out.append(_SIMPLE_ESCAPES[char])
            continue
        if char in _KEPT:
            out.append("\\" + char)
            continue
        if char in _OCTAL:
            width, base, digits, at = 3, 8, _OCTAL, at - 1
        elif char in _NUMERIC_ESCAPES:
            (width, base), digits = _NUMERIC_ESCAPES[char], _HEX
        else:
            return None
        end = at
        while end < len(body) and end - at < width and body[end] in digits:
            end += 1
        if end == at:
            return None
        code = int(body[at:end], base)
        at = end
        byte = char not in "uU"
        if code == 0 and at == len(body):
            break
        if code == 0 or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF or (byte and code > 127):
            return None
        out.append(chr(code))
    return "".join(out)
