"""What fits into a window of the classifier: about 128 pieces of a text."""

import re
from random import Random

__all__ = ["SHORTER", "WINDOW", "around", "cut", "held", "weight"]

WINDOW = 520  # Latin characters: about what 128 tokens hold; letters of other scripts are a token each
SHORTER = (WINDOW, WINDOW, 320, 220)  # texts come in all lengths, and short ones train faster
_LATIN = 0x250
_RARE = 4
_OTHER = re.compile(f"[{chr(_LATIN)}-\U0010ffff]")
_WHOLE = 0.6  # of the documents that fit a window with what was slipped in, how many are left whole


def cut(text: str, rng: Random) -> str:
    """At most a window of `text`, from any place in it."""
    size = weight(text)
    if size <= WINDOW:
        return text
    start = rng.randint(0, (size - WINDOW) * len(text) // size) if rng.random() < 0.6 else 0
    return held(text[start:], WINDOW)


def around(before: str, text: str, after: str, rng: Random) -> str:
    """`text` between these, of which as much is left as a window has room for."""
    if weight(before) + weight(text) + weight(after) <= WINDOW and rng.random() < _WHOLE:
        return before + text + after
    room = max(rng.choice(SHORTER) - weight(text), 120)
    lead = rng.randint(0, room)
    return held(before[::-1], lead)[::-1] + text + held(after, room - lead)


def weight(text: str) -> int:
    """In Latin letters: those of other scripts are a piece each."""
    return len(text) if text.isascii() else len(text) + (_RARE - 1) * len(_OTHER.findall(text))


def held(text: str, room: int) -> str:
    """As much of the beginning of `text` as weighs at most `room`."""
    if text.isascii():
        return text[:room]
    for place, letter in enumerate(text):
        room -= 1 if ord(letter) < _LATIN else _RARE
        if room < 0:
            return text[:place]
    return text
