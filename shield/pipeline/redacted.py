"""Values of an action with the secrets taken out: for the log's view of it, and for what is kept encrypted beside it.

A secret is recognised by its shape, by the name it stands under (`Bearer …` below the key `Authorization`, what follows
`--password` in a list), and by the facts, which also look into what is encoded.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from shield.canonical import MAX_BYTES, encode
from shield.facts.secrets import find_secrets, redact
from shield.facts.text import pointer
from shield.types import Action, Facts, Json, SecretFact

__all__ = ["Known", "Spot", "content"]

_NAME_MAX = 64  # code points, the last ones: what a secret's name ends with is what it is
_VALUES_MAX = 32
_PIECE = 8  # code points of a secret that a name may not have in common with it
_LONGEST = 1_000  # code points of a name that is looked through


class Known:
    """The secrets that the facts found in an action, by place, and what they are."""

    def __init__(self, action: Action, facts: Facts) -> None:
        self.places: dict[str, tuple[SecretFact, ...]] = {}
        self._values: list[str] = []
        for secret in facts.secrets:
            self.places[secret.where] = (*self.places.get(secret.where, ()), secret)
        for where, secrets in list(self.places.items())[:_VALUES_MAX]:
            for text in _texts(action.payload, where):
                self._values += [text[secret.start : secret.end].lower() for secret in secrets]

    def shared(self, name: str) -> bool:
        """Whether `name`, of a path, a host or a program, has a piece of a secret in it, however it was written there.

        A path is resolved, a host is lower case, a refspec is cut: what is left of a secret may have no shape any more.
        """
        if not self.places:
            return False
        if len(self.places) > _VALUES_MAX:
            return True
        text = name[:_LONGEST].lower()
        return any(_common(text, value) for value in self._values)


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the payload: the name that its value goes by, and its JSON pointer."""

    known: Known
    name: str = ""
    where: str = ""

    def under(self, value: Mapping[str, Json], key: str) -> "Spot":
        """Below a key of an object: the name is the key, or `X` in `{"name": X, "value": …}`."""
        name = key
        if key == "value":
            name = next((said for other in _NAMING if isinstance(said := value.get(other), str)), key)
        return Spot(self.known, name, self.where + pointer(key) if self.known.places else "")

    def at(self, value: Sequence[Json], index: int) -> "Spot":
        """An item of a list: the name is the string before it, else the list's own."""
        before = value[index - 1] if index else None
        name = before if isinstance(before, str) else self.name
        return Spot(self.known, name, f"{self.where}/{index}" if self.known.places else "")

    def clean(self, text: str) -> str:
        """The string that stands here without what is a secret by itself, by its name or by the facts."""
        lead = f"{self.name[-_NAME_MAX:]}: " if self.name else ""
        known = self.known.places.get(self.where, ()) if self.known.places else ()
        found = redact(lead + text)[1]
        if not found and not known:
            return text
        moved = [(max(one.start - len(lead), 0), one.end - len(lead), one.kind) for one in found if one.end > len(lead)]
        return _without(text, sorted([*moved, *((one.start, one.end, one.kind) for one in known)]))


_NAMING = ("name", "key", "header")


def content(action: Action, known: Known) -> bytes:
    """The whole action in canonical form, secrets taken out; nothing where one shows only across its strings.

    Without a secret these are the action's own bytes.
    """
    kept = {
        "cwd": None if action.cwd is None else redact(action.cwd)[0],
        "payload": _whole(dict(action.payload), Spot(known)),
        "type": redact(action.type)[0],
    }
    raw = encode(kept, max_nodes=MAX_BYTES)
    return b"" if find_secrets(raw.decode(), limit=1) else raw


def _whole(value: Json, spot: Spot) -> Json:
    if isinstance(value, str):
        return spot.clean(value)
    if isinstance(value, Mapping):
        return {redact(key)[0]: _whole(item, spot.under(value, key)) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_whole(item, spot.at(value, index)) for index, item in enumerate(value)]
    return value


def _without(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    pieces, at = [], 0
    for start, end, kind in spans:
        if end > at and start < len(text):
            pieces += [text[at:start], f"[redacted {kind}]"] if start >= at else []
            at = end
    return "".join((*pieces, text[at:]))


def _common(text: str, value: str) -> bool:
    piece = min(_PIECE, len(value))
    return piece > 0 and any(text[start : start + piece] in value for start in range(len(text) - piece + 1))


def _texts(value: Json | Mapping[str, Json], where: str) -> Iterable[str]:
    """What a pointer may mean: the string that it leads to, and the key that it ends with."""
    tokens = [token.replace("~1", "/").replace("~0", "~") for token in where.split("/")[1:]]
    if tokens:
        yield tokens[-1]
    found: Json | Mapping[str, Json] = value
    for token in tokens:
        if isinstance(found, Mapping):
            found = found.get(token)
        elif isinstance(found, list) and token.isdigit() and int(token) < len(found):
            found = found[int(token)]
        else:
            return
    if isinstance(found, str):
        yield found
