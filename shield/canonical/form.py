"""The canonical form `shield-jcs-1`: written, read back, and hashed."""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

from shield.canonical.decoder import CANONICAL_DECODER, DuplicateKeyError, NumberError
from shield.canonical.limits import MAX_DEPTH, MAX_NODES, MAX_SAFE_INTEGER, too_deep, too_many
from shield.errors import InputError, Reason
from shield.regex import regex
from shield.types import Json

__all__ = ["canonicalise", "decode", "digest", "encode"]

_INT_KEY = regex(r"\$+int")
_FAST = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
)
_quote = json.encoder.encode_basestring  # the escapes of RFC 8785 section 3.2.2.2, nothing else escaped


def encode(value: Any, *, max_depth: int = MAX_DEPTH, max_nodes: int = MAX_NODES) -> bytes:
    """The `shield-jcs-1` bytes of a value made of str, int, float, bool, None, list, tuple and mappings with str keys.

    Raises InputError for anything else, for non-finite floats, lone surrogates and exceeded limits.
    """
    walk = _Prepared(max_nodes)
    ready = walk.take(value, max_depth, "")
    try:
        text = _write(ready) if walk.slow else _FAST.encode(ready)
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(
            "a string holds a lone surrogate; send well-formed Unicode", reason=Reason.INPUT_SURROGATE
        ) from None


def decode(canonical: bytes) -> Json:
    """The value that canonical bytes stand for: what an executor runs. Raises InputError if they are not canonical."""
    try:
        value: Json = _unwrap(CANONICAL_DECODER.decode(canonical.decode("utf-8")))
    except (ValueError, RecursionError, DuplicateKeyError, NumberError):
        raise InputError("the bytes are not canonical JSON", reason=Reason.INPUT_JSON) from None
    if encode(value) != canonical:
        raise InputError("the bytes are not in canonical form", reason=Reason.INPUT_JSON)
    return value


def canonicalise(value: Any) -> tuple[bytes, Json]:
    """The `shield-jcs-1` bytes of a value, and the value that they stand for. Raises InputError as `encode` does."""
    canonical = encode(value)
    # INVARIANT: what encode() wrote is canonical, so reading it back needs no second look
    text = canonical.decode("utf-8")
    read_back = CANONICAL_DECODER.decode(text)
    return canonical, _unwrap(read_back) if '"$' in text else read_back  # no other key is an escaped one


def digest(canonical: bytes) -> str:
    """`sha256:` + 64 lower-case hex digits."""
    return "sha256:" + hashlib.sha256(canonical).hexdigest()


class _Prepared:
    """One walk: checks, escapes `$int`, and notes whether json's own writer would differ from RFC 8785."""

    __slots__ = ("left", "limit", "slow")

    def __init__(self, max_nodes: int) -> None:
        self.limit = self.left = max_nodes
        self.slow = False

    def take(self, value: Any, depth: int, pointer: str) -> Any:
        self.left -= 1
        if self.left < 0:
            raise too_many(self.limit)
        kind = type(value)
        if kind is str or value is None or kind is bool:
            return value
        if kind is int:
            if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
                return value
            return {"$int": _digits(value)}
        if kind is float:
            if not math.isfinite(value):
                raise InputError("a number is not finite", reason=Reason.INPUT_NUMBER, pointer=pointer)
            self.slow = True
            return value
        if kind is list or kind is tuple:
            if depth == 0:
                raise too_deep(MAX_DEPTH)
            return [self.take(item, depth - 1, f"{pointer}/{index}") for index, item in enumerate(value)]
        if isinstance(value, Mapping):
            return self._mapping(value, depth, pointer)
        if isinstance(value, str):
            return str.__str__(value)
        raise InputError(f"a value of type `{kind.__name__}` is not JSON", reason=Reason.INPUT_FIELD, pointer=pointer)

    def _mapping(self, value: Mapping[Any, Any], depth: int, pointer: str) -> dict[str, Any]:
        if depth == 0:
            raise too_deep(MAX_DEPTH)
        ready: dict[str, Any] = {}
        for key, item in value.items():
            if type(key) is not str:
                raise InputError("an object key is not a string", reason=Reason.INPUT_KEY, pointer=pointer)
            # Python sorts by code point, RFC 8785 by UTF-16 code unit: they differ only from U+D800 up
            if not key.isascii() and max(key) >= "\ud800":
                self.slow = True
            kind = type(item)
            if kind is str or item is None or (kind is int and -MAX_SAFE_INTEGER <= item <= MAX_SAFE_INTEGER):
                self.left -= 1  # as `take` does, for most of what there is
                ready[key] = item
            else:
                ready[key] = self.take(item, depth - 1, f"{pointer}/{key}")
        if self.left < 0:
            raise too_many(self.limit)
        if len(ready) == 1:
            (key,) = ready
            if _INT_KEY.fullmatch(key):
                return {"$" + key: ready[key]}
        return ready


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError:
        raise InputError("an integer has too many digits; send it as a string", reason=Reason.INPUT_NUMBER) from None


def _write(value: Any) -> str:
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _write_float(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_write, value)) + "]"
    try:
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
    except UnicodeEncodeError:
        raise InputError(
            "an object key holds a lone surrogate; send well-formed Unicode", reason=Reason.INPUT_SURROGATE
        ) from None
    return "{" + ",".join(f"{_quote(key)}:{_write(value[key])}" for key in keys) + "}"


def _write_float(value: float) -> str:
    """ECMA-262 Number::toString, as RFC 8785 section 3.2.2.3 asks: Python's shortest digits, laid out its way."""
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent_text = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    if fraction == "0":
        fraction = ""
    digits = (whole + fraction).lstrip("0")
    # the value is 0.DIGITS × 10^point
    point = int(exponent_text or 0) + len(whole)
    if whole == "0":
        point = int(exponent_text or 0) - (len(fraction) - len(fraction.lstrip("0")))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        body = digits + "0" * (point - count)
    elif 0 < point <= 21:
        body = digits[:point] + "." + digits[point:]
    elif -6 < point <= 0:
        body = "0." + "0" * -point + digits
    else:
        exponent = point - 1
        head = digits[0] + ("." + digits[1:] if count > 1 else "")
        body = f"{head}e{'+' if exponent >= 0 else '-'}{abs(exponent)}"
    return sign + body


def _unwrap(value: Any) -> Any:
    if isinstance(value, list):
        return [_unwrap(item) for item in value]
    if isinstance(value, dict):
        if len(value) == 1:
            ((key, item),) = value.items()
            if key == "$int":
                if not isinstance(item, str):
                    raise ValueError(key)
                return int(item)
            if _INT_KEY.fullmatch(key):
                return {key[1:]: _unwrap(item)}
        return {key: _unwrap(item) for key, item in value.items()}
    return value
