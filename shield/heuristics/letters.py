"""`\\pL` in a heuristics file: a letter, told by the blocks that hold letters.

RE2 takes Unicode's own class apart into 1,200 steps; a phrase with five gaps of words would need ten thousand. The
blocks of living languages are 70 steps, and they hold what stands on letters, too: without its vowel signs a Hindi
word would end after each consonant.
"""

import re
from typing import Final

__all__ = ["LETTERS", "by_block"]

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
_OUTSIDE: Final = re.compile(rf"{_ESCAPE}|\[\^?\]?|[^\\\[]+|.", re.DOTALL)
_INSIDE: Final = re.compile(rf"{_ESCAPE}|\[:\^?\w+:\]|[^\\\[\]]+|.", re.DOTALL)


def by_block(pattern: str) -> str:
    """`pattern` with each `\\pL` replaced, in brackets and out of them, and each `\\PL` out of them."""
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
