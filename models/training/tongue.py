"""Which group of languages a text is in, by its letters: enough to put words into a document in their own language."""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

__all__ = ["ENGLISH", "LATIN", "tongue", "tongue_of"]

ENGLISH = ""  # or too little of another language to tell
LATIN = "latin"
_FEW = 0.01  # of the letters
_READ = 400  # letters
_BLOCKS = (
    (0x0080, 0x024F, LATIN),
    (0x0370, 0x03FF, "greek-to-arabic"),
    (0x0400, 0x052F, "cyrillic"),
    (0x0590, 0x077F, "greek-to-arabic"),
    (0x0900, 0x0DFF, "indic"),
    (0x0E00, 0x0E7F, "thai"),
    (0x1E00, 0x1EFF, LATIN),
    (0x3040, 0x30FF, "japanese"),
    (0x3400, 0x9FFF, "chinese"),
    (0xAC00, 0xD7AF, "korean"),
)
_KANA = 0.1  # of Japanese at least
_CODES: Mapping[str, str] = MappingProxyType(
    {
        "": ENGLISH,
        "en": ENGLISH,
        "zh": "chinese",
        "ja": "japanese",
        "ko": "korean",
        "th": "thai",
        **dict.fromkeys(("ru", "uk", "sr", "bg", "mk", "be"), "cyrillic"),
        **dict.fromkeys(("hi", "mr", "as", "bn", "gu", "kn", "pa", "ta", "te"), "indic"),
        **dict.fromkeys(("ar", "el", "fa", "he"), "greek-to-arabic"),
    }
)


def tongue(text: str) -> str:
    """The group that most of its letters beyond ASCII are of."""
    read = text[:_READ]
    if read.isascii():
        return ENGLISH
    found: Counter[str] = Counter()
    for letter, times in Counter(read).items():
        group = _group(letter)
        if group is not None:
            found[group] += times
    if found["japanese"] > _KANA * found["chinese"]:
        return "japanese"
    group, count = max(found.items(), key=lambda one: one[1], default=(ENGLISH, 0))
    return group if count >= _FEW * len(read) else ENGLISH


@cache
def _group(letter: str) -> str | None:
    code = ord(letter)
    return next((name for first, last, name in _BLOCKS if first <= code <= last and letter.isalpha()), None)


def tongue_of(language: str) -> str:
    """The group of a language's code, such as `pt_BR`."""
    return LATIN if language.endswith("@latin") else _CODES.get(language[:2], LATIN)
