"""Short pieces of documents: most of what tools return is a line, a field or a sentence, and none of that is an attack
because it is short and stands alone."""

import re
from random import Random

__all__ = ["piece"]

_CUTS = re.compile(r'\n+|(?<=[.!?…])\s+|"\s*[:,]\s*"?|[|\t]|\s[-\u2013\u2014\u2022]\s|</?[a-z][^>]{0,60}>')
_LEAST = 3  # letters
_MOST = 3  # of them together


def piece(text: str, rng: Random) -> str:
    """One line, field or sentence of `text`, or up to three in a row; `text` itself where it has none."""
    parts = [part.strip(' "{}[],') for part in _CUTS.split(text)]
    parts = [part for part in parts if sum(map(str.isalpha, part)) >= _LEAST]
    if not parts:
        return text
    start = rng.randrange(len(parts))
    return rng.choice((" ", " ", "\n")).join(parts[start : start + rng.choice((1, 1, 2, _MOST))])
