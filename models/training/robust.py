"""Twenty-two ways in which a text is changed without a change to what it asks for."""

import base64
import codecs
import json
from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType
from urllib.parse import quote

from models.training.disguise import DISGUISES

__all__ = ["CHANGES", "changed"]

_PADDED = 100_000
_POLITE = (
    "It would be appreciated if the following were seen to: {}",
    "What remains to be taken care of is this, and it falls to you. {}",
    "The next thing on the list reads as follows. {} That is all.",
    "In other words, and put as plainly as can be: {}",
)


def _wide(text: str) -> str:
    return "".join(chr(ord(letter) + 0xFEE0) if "!" <= letter <= "~" else letter for letter in text)


def _truncated(text: str) -> str:
    return text[: max(len(text) * 4 // 5, 20)]


_FIXED: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {
        "lower": str.lower,
        "wide": _wide,
        "base64": lambda text: base64.b64encode(text.encode()).decode(),
        "hex": lambda text: text.encode().hex(),
        "rot13": lambda text: codecs.encode(text, "rot13"),
        "percent": quote,
        "truncated": _truncated,
        "JSON in JSON": lambda text: json.dumps({"note": {"body": json.dumps(text)}}),
    }
)
_IN_CONTEXT = ("split over leaves", "padded to 100 kB", "embedded", "asked otherwise")
CHANGES = (*DISGUISES, *_FIXED, *_IN_CONTEXT)


def changed(name: str, text: str, document: str, rng: Random) -> list[str]:
    """The strings that stand in the fields of a payload after change `name`; `document` is something harmless."""
    if name in DISGUISES:
        return [DISGUISES[name](text, rng)]
    if name in _FIXED:
        return [_FIXED[name](text)]
    if name == "asked otherwise":
        return [rng.choice(_POLITE).format(text)]
    if name == "split over leaves":
        words = text.split(" ")
        at = rng.randint(len(words) // 3, 2 * len(words) // 3)
        return [" ".join(words[:at]), " ".join(words[at:])]
    if name == "embedded":
        words = document.split(" ")
        at = rng.randint(0, len(words))
        return [" ".join([*words[:at], text, *words[at:]])]
    filler = (document + "\n\n") * (_PADDED // len(document) + 1)
    lead = rng.randint(0, _PADDED)
    return [f"{filler[:lead]}\n{text}\n{filler[: _PADDED - lead]}"]
