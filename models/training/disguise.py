"""Ways to write a text so that a reader still reads it and a filter may not."""

import re
from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType

__all__ = ["DISGUISES", "disguised"]

_LOOKALIKES = MappingProxyType(
    dict(zip("aceopxyiscdhjlnqrtvwgkmuAEOPXCTHBKM", "асеорхуіѕсԁһјӏոԛгтνԝցкмυАЕОРХСТНВКМ", strict=True))
)
_LEET = MappingProxyType({"a": "4", "e": "3", "i": "1", "o": "0", "s": "5", "t": "7"})
_ACCENTS = ("\u0301", "\u0308", "\u0323", "\u0300")
_UNSEEN = ("\u200b", "\u200c", "\u2060", "\ufeff", "\u00ad")


def _upper(text: str, rng: Random) -> str:
    del rng
    return text.upper()


def _mixed(text: str, rng: Random) -> str:
    return "".join(letter.upper() if rng.random() < 0.5 else letter.lower() for letter in text)


def _spaces(text: str, rng: Random) -> str:
    return "".join(letter if letter != " " else " " * rng.randint(1, 4) for letter in text)


def _spelled(text: str, rng: Random) -> str:
    """Some words written with a sign between the letters."""
    sign = rng.choice((" ", "-", ".", "_"))
    return re.sub(r"[A-Za-z]{4,}", lambda word: sign.join(word[0]) if rng.random() < 0.5 else word[0], text)


def _lookalike(text: str, rng: Random) -> str:
    share = rng.uniform(0.15, 0.7)
    return "".join(_LOOKALIKES.get(letter, letter) if rng.random() < share else letter for letter in text)


def _leet(text: str, rng: Random) -> str:
    share = rng.uniform(0.4, 1)
    return "".join(_LEET.get(letter.lower(), letter) if rng.random() < share else letter for letter in text)


def _accents(text: str, rng: Random) -> str:
    return "".join(
        letter + (rng.choice(_ACCENTS) if letter.isalpha() and rng.random() < 0.25 else "") for letter in text
    )


def _unseen(text: str, rng: Random) -> str:
    return "".join(letter + (rng.choice(_UNSEEN) if rng.random() < 0.2 else "") for letter in text)


def _typing(text: str, rng: Random) -> str:
    """Letters swapped and lost, as by a hand in a hurry."""
    letters = list(text)
    for _ in range(max(1, len(letters) // 25)):
        at = rng.randrange(max(1, len(letters) - 1))
        if rng.random() < 0.5 and at + 1 < len(letters):
            letters[at], letters[at + 1] = letters[at + 1], letters[at]
        elif len(letters) > 4:
            del letters[at]
    return "".join(letters)


def _lines(text: str, rng: Random) -> str:
    """Wrapped at any column, as in a mail that is quoted."""
    lead = rng.choice(("", "> ", "// ", "# ", " * ", "    "))
    words, lines, column = text.split(" "), [""], rng.randint(24, 72)
    for word in words:
        if len(lines[-1]) + len(word) > column:
            lines.append(lead)
        lines[-1] += word + " "
    return "\n".join(line.rstrip() for line in lines)


DISGUISES: Mapping[str, Callable[[str, Random], str]] = MappingProxyType(
    {
        "upper": _upper,
        "mixed": _mixed,
        "spaces": _spaces,
        "spelled": _spelled,
        "lookalike": _lookalike,
        "leet": _leet,
        "accents": _accents,
        "unseen": _unseen,
        "typing": _typing,
        "lines": _lines,
    }
)


def disguised(text: str, rng: Random) -> str:
    """`text` in one disguise, drawn evenly."""
    return DISGUISES[rng.choice(tuple(DISGUISES))](text, rng)
