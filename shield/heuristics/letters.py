"""Letters in patterns: `\\pL` by the blocks that hold letters, and which patterns need one that is not Latin.

RE2 takes Unicode's own class apart into 1,200 steps; a phrase with five gaps of words would need ten thousand. The
blocks of living languages are 70 steps, and they hold what stands on letters, too: without its vowel signs a Hindi
word would end after each consonant.
"""

import re
from typing import Final

from shield.regex import regex

__all__ = ["BEYOND_LATIN", "LETTERS", "beyond_latin", "by_block"]

# Letters that are neither Latin nor an accent written as one: what has none of them need not be held against patterns
# in Chinese or Russian. General punctuation, signs and drawings, U+2000 to U+2BFF, stand in texts of every language.
BEYOND_LATIN: Final = regex("[\u0300-\u1fff\u2c00-\U0010ffff]")
# Of these the ones whose capital or small letter is one of them, too: not the Greek letters that are also units, nor
# Latin letters that stand among the others.
_SURE: Final = regex("(?![\u039c\u03a9\u03bc\u03c9])[\u0370-\u1c7f\u2e80-\ua63f\uac00-\ud7ff\uf900-\ufdff]")
# What is not followed here: quoting, flags for what comes, names, a bracket as the first of a class.
_UNCLEAR: Final = regex(r"\\Q|\(\?(?!:)|\[\^?\]")
_TOKEN: Final = regex(
    r"(?P<open>\((?:\?:)?)|(?P<close>\))|(?P<or>\|)|(?P<optional>[?*]\??|\{0?,[0-9]*\}\??|\{0\}\??)"
    r"|(?P<other>[+]\??|\{[0-9,]+\}\??|\\x\{[0-9a-fA-F]+\}|\\[pP](?:\{\^?\w+\}|.)|\\.)"
    r"|\[(?P<among>(?:\\x\{[0-9a-fA-F]+\}|\[:\^?\w+:\]|\\.|[^\]\\])+)\]|(?P<letter>.)",
    re.DOTALL,
)

# Unicode 15, Blocks.txt. Left out of them: the signs of multiplication and division, Armenian, Hebrew, Arabic and
# Devanagari punctuation, the Katakana middle dot, and spaces and signs between the blocks.
_BLOCKS: Final = (
    (0x0041, 0x005A), (0x0061, 0x007A), (0x00C0, 0x00D6), (0x00D8, 0x00F6), (0x00F8, 0x0588), (0x0591, 0x05BD),
    (0x05BF, 0x060B), (0x0610, 0x061A), (0x0620, 0x06D3), (0x06D5, 0x0963), (0x0966, 0x1FFF), (0x2C00, 0x2DFF),
    (0x3005, 0x3007), (0x3040, 0x30FA), (0x30FC, 0xD7FF), (0xF900, 0xFD3D), (0xFD50, 0xFDFF), (0xFE70, 0xFEFE),
    (0xFF21, 0xFF3A), (0xFF41, 0xFF5A), (0xFF66, 0xFFDC), (0x10000, 0x1CFFF), (0x20000, 0x3FFFF),
)  # fmt: skip
LETTERS: Final = "".join(rf"\x{{{first:x}}}-\x{{{last:x}}}" for first, last in _BLOCKS)
_ESCAPE: Final = r"\\[pP]\{\^?\w+\}|\\[pP].|\\."
_OUTSIDE: Final = regex(rf"{_ESCAPE}|\[\^?\]?|[^\\\[]+|.", re.DOTALL)
_INSIDE: Final = regex(rf"{_ESCAPE}|\[:\^?\w+:\]|[^\\\[\]]+|.", re.DOTALL)


def by_block(pattern: str) -> str:
    """`pattern` with each `\\pL` replaced, in brackets and out of them, and each `\\PL` out of them."""
    if r"\p" not in pattern.casefold():
        return pattern
    inside = False
    found = []
    at = 0
    while match := (_INSIDE if inside else _OUTSIDE).match(pattern, at):
        piece, at = match[0], match.end()
        if piece in (r"\pL", r"\p{L}"):
            piece = LETTERS if inside else f"[{LETTERS}]"
        elif piece in (r"\PL", r"\P{L}") and not inside:
            piece = f"[^{LETTERS}]"
        elif inside:
            inside = piece != "]"
        else:
            inside = piece.startswith("[")
        found.append(piece)
    return "".join(found)


def beyond_latin(pattern: str) -> bool:
    """Whether whatever `pattern` matches has a letter of `BEYOND_LATIN`. False where that is not plain."""
    # most patterns are in English, and are not to be read letter by letter
    if not _SURE.search(pattern) or _UNCLEAR.search(pattern):
        return False
    # of each open group: whether every branch before this one has such a letter, and whether this one has
    groups: list[tuple[bool, bool]] = [(True, False)]
    last = False  # what was read last, which may turn out to be optional
    for token in _TOKEN.finditer(pattern):
        kind, said = token.lastgroup, token[0]
        branches, branch = groups[-1]
        if kind == "optional":
            last = False
            continue
        if kind == "other" and said[0] in "+{":
            continue
        branch = branch or last
        last = False
        groups[-1] = branches, branch
        if kind == "open":
            groups.append((True, False))
        elif kind == "or":
            groups[-1] = branches and branch, False
        elif kind == "close":
            groups.pop()
            last = branches and branch
            if not groups:
                return False
        elif kind == "among":
            last = said[1] != "^" and all(_is_beyond(letter) for letter in token["among"])
        elif kind == "letter":
            last = _is_beyond(said)
    branches, branch = groups[-1]
    return len(groups) == 1 and branches and (branch or last)


def _is_beyond(letter: str) -> bool:
    return _SURE.match(letter) is not None
