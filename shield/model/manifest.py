"""manifest.json: which bytes a model consists of and how its text is laid out. What it does not name is not used."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from shield.canonical import parse
from shield.errors import InputError, ModelError, Reason
from shield.model.directory import CONFIG, GRAPHS, LIMITS, MANIFEST, TOKENIZER
from shield.regex import regex
from shield.types import Json, TextKind

__all__ = ["MAX_WINDOW", "Manifest", "Pin", "read_json", "read_manifest"]

MAX_WINDOW: Final = 512
MIN_WINDOW: Final = 16
_VERSION: Final = 1
_SHA256 = regex(r"[0-9a-f]{64}")
_NAME = regex(r"[a-z0-9][a-z0-9._-]{0,63}")
_SPECIAL: Final = ("cls", "sep", "pad")
_FIX: Final = "copy the file anew from where the model comes from"
_KEYS: Final = ("version", "name", "files", "attack", "window", "stride", "markers", "special", "made")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """What one file must be: `sha256` in hex, `size` in bytes."""

    sha256: str
    size: int

    @classmethod
    def of(cls, content: bytes) -> "Pin":
        return cls(sha256=hashlib.sha256(content).hexdigest(), size=len(content))


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """`attack`: indices of the classes that are attacks. `window` and `stride` count tokens, special ones included in
    the window. `markers` and `special` are token ids; None means that the tokenizer frames its text itself."""

    name: str
    files: Mapping[str, Pin]
    attack: tuple[int, ...]
    window: int = 128
    stride: int = 64
    markers: Mapping[TextKind, int] | None = None
    special: Mapping[str, int] | None = None
    made: Mapping[str, Json] = field(default_factory=dict)

    @property
    def graph(self) -> str:
        """Which of `GRAPHS` the model runs."""
        return next(name for name in GRAPHS if name in self.files)

    def as_json(self) -> bytes:
        """The bytes of manifest.json; `read_manifest` gives this value again."""
        value = {
            "version": _VERSION,
            "name": self.name,
            "files": {name: {"sha256": pin.sha256, "bytes": pin.size} for name, pin in sorted(self.files.items())},
            "attack": list(self.attack),
            "window": self.window,
            "stride": self.stride,
            "markers": None if self.markers is None else {str(kind): mark for kind, mark in self.markers.items()},
            "special": None if self.special is None else dict(self.special),
            "made": dict(self.made),
        }
        return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()


def read_json(raw: bytes, name: str) -> dict[str, Json]:
    """The object in `raw`, read strictly. Raises ModelError that names the file `name`."""
    try:
        value = parse(raw, max_bytes=LIMITS[name], max_nodes=100_000)
    except InputError as error:
        # what `parse` advises is for who sends a request
        what = "not UTF-8" if error.reason is Reason.INPUT_ENCODING else error.detail.partition("; ")[0]
        where = "" if error.offset is None else f" (byte {error.offset})"
        raise ModelError(f"`{name}` is not readable: {what}{where}; {_FIX}") from None
    if not isinstance(value, dict):
        raise ModelError(f"`{name}` is not a JSON object; {_FIX}")
    return value


def read_manifest(raw: bytes) -> Manifest:
    """The manifest in `raw`. Raises ModelError with the key that is wrong."""
    value = read_json(raw, MANIFEST)
    unknown = sorted(set(value) - set(_KEYS))
    if unknown:
        raise _error(unknown[0][:64], "is not a known key; remove it")
    if type(value.get("version")) is not int or value["version"] != _VERSION:
        raise _error("version", f"is not {_VERSION}; adopt the model again with `shield model use`")
    name = value.get("name")
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise _error("name", "is not lower-case letters, digits, `.`, `_`, `-`")
    window = _number(value.get("window"), "window", MIN_WINDOW, MAX_WINDOW)
    stride = _number(value.get("stride"), "stride", 1, window)
    made = value.get("made", {})
    if not isinstance(made, dict):
        raise _error("made", "is not an object")
    markers, special = _framing(value.get("markers"), value.get("special"))
    # INVARIANT: consecutive windows meet, so no token stands outside all of them
    if stride > window - 2 - (1 if markers else 0):
        raise _error("stride", "is so wide that tokens between two windows would not be read")
    return Manifest(
        name=name,
        files=_files(value.get("files")),
        attack=_attack(value.get("attack")),
        window=window,
        stride=stride,
        markers=markers,
        special=special,
        made=made,
    )


def _files(value: Json) -> Mapping[str, Pin]:
    if not isinstance(value, dict):
        raise _error("files", "is not an object of file names")
    found: dict[str, Pin] = {}
    for name, entry in value.items():
        if name not in LIMITS or name == MANIFEST:
            raise _error("files", f"names `{name[:64]}`, which is no file of a model")
        sha256 = entry.get("sha256") if isinstance(entry, dict) and set(entry) == {"sha256", "bytes"} else None
        if not isinstance(entry, dict) or not isinstance(sha256, str) or _SHA256.fullmatch(sha256) is None:
            raise _error("files", f'needs `{{"sha256": 64 hex digits, "bytes": size}}` for `{name}`')
        found[name] = Pin(sha256=sha256, size=_number(entry["bytes"], "files", 0, LIMITS[name]))
    for name in (CONFIG, TOKENIZER):
        if name not in found:
            raise _error("files", f"does not name `{name}`")
    if sum(name in found for name in GRAPHS) != 1:
        raise _error("files", f"must name one of `{GRAPHS[0]}` and `{GRAPHS[1]}`")
    return found


def _framing(markers: Json, special: Json) -> tuple[Mapping[TextKind, int] | None, Mapping[str, int] | None]:
    if markers is None and special is None:
        return None, None
    if not isinstance(markers, dict) or set(markers) != set(TextKind):
        raise _error("markers", f"must hold {', '.join(TextKind)}, or be null together with `special`")
    if not isinstance(special, dict) or set(special) != set(_SPECIAL):
        raise _error("special", f"must hold {', '.join(_SPECIAL)}, or be null together with `markers`")
    return (
        {kind: _number(markers[kind], "markers", 0, 1 << 24) for kind in TextKind},
        {key: _number(special[key], "special", 0, 1 << 24) for key in _SPECIAL},
    )


def _attack(value: Json) -> tuple[int, ...]:
    if not isinstance(value, list) or not value:
        raise _error("attack", "is not a list of class numbers")
    found = tuple(_number(item, "attack", 0, 2) for item in value)
    if len(set(found)) != len(found):
        raise _error("attack", "names a class twice")
    return found


def _number(value: Json, key: str, least: int, most: int) -> int:
    # `True` is an int for Python
    if type(value) is not int or not least <= value <= most:
        raise _error(key, f"must be a whole number from {least} to {most}")
    return value


def _error(key: str, what: str) -> ModelError:
    return ModelError(f"`{MANIFEST}`: `{key}` {what}")
