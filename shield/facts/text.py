"""The strings of an action, as rules and classifiers read them: made plain, and with what is encoded in them decoded.

Everything here is bounded: how many strings, how long, how deep, how many layers. What is cut is said to the caller.
"""

import re

from shield.facts.text_encodings import Purse, decoded
from shield.facts.text_plain import plain, within
from shield.regex import regex
from shield.types import TextFact

__all__ = ["layers", "names_only", "pointer"]

_MAX_TEXT = 1 << 20  # code points of one string that are looked at
_MAX_LAYERS = 12  # decoded layers of one string
_MAX_DEPTH = 3

_NAME = regex(r"[\w.$-]{1,19}", re.ASCII)


def layers(text: str, *, role: str, where: str) -> tuple[tuple[TextFact, ...], bool]:
    """The text made plain (`raw`) and what is encoded in it, each layer named by how it was reached (`base64`,
    `base64+hex` …); and whether all of it was looked at."""
    looked = _looked(text[:_MAX_TEXT])
    whole, text = len(looked) == len(text), looked
    first = plain(text)
    found = {first: "raw"}
    # what nobody sees may stand between the letters of what is encoded, or be what is encoded
    queue = [(text, "")] if first == text else [(text, ""), (first[:_MAX_TEXT], "")]
    # INVARIANT: every entry of `queue` is no longer than `_MAX_TEXT` and at most `_MAX_DEPTH` steps from the text.
    purse = Purse()
    while queue:
        current, path = queue.pop(0)
        if path.count("+") + bool(path) >= _MAX_DEPTH:
            whole = whole and all(plain(_looked(inner)) in found for _, inner in decoded(current, purse))
            continue
        for name, inner in decoded(current, purse):
            looked = _looked(inner)
            whole = whole and len(looked) == len(inner)
            shown = plain(looked)
            if shown in found:
                continue
            if len(found) > _MAX_LAYERS:
                return _facts(found, role, where), False
            step = f"{path}+{name}" if path else name
            found[shown] = step
            queue.append((looked, step))
    return _facts(found, role, where), whole and purse.left > 0


def _looked(text: str) -> str:
    # what is ASCII becomes no longer
    return text if text.isascii() else within(text, _MAX_TEXT)


def pointer(*keys: str | int) -> str:
    """The JSON pointer (RFC 6901) of these keys."""
    return "".join(["/" + str(key).replace("~", "~0").replace("/", "~1") for key in keys])


def names_only(key: str) -> bool:
    """Whether a key of an object is no more than a name: whatever else it is says something, and is read as a text."""
    return _NAME.fullmatch(key) is not None


def _facts(found: dict[str, str], role: str, where: str) -> tuple[TextFact, ...]:
    return tuple(TextFact(role=role, where=where, layer=layer, text=text) for text, layer in found.items())
