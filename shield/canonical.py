"""Strict JSON in, canonical bytes out: what is judged, hashed, logged and run is one and the same byte string.

`parse` reads JSON (RFC 8259) and refuses what two readers could understand differently: duplicate keys, NaN and
infinity (also by overflow), lone surrogates, a byte order mark, and anything past a named limit.
`encode` writes `shield-jcs-1`: RFC 8785 (JSON Canonicalization Scheme), but an integer beyond ±(2^53−1), which RFC 8785
cannot represent, becomes `{"$int":"…"}`, and an object with exactly one key matching `^\\$+int$` gains one `$`.
`decode` is the inverse: `decode(encode(v)) == v` up to the number forms that RFC 8785 merges (`1.0` is `1`).
"""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # public in CPython, missing in typeshed
from typing import Any, NoReturn

from shield.errors import InputError, Reason
from shield.types import Json

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_NODES",
    "MAX_SAFE_INTEGER",
    "canonicalise",
    "decode",
    "digest",
    "encode",
    "parse",
]

MAX_BYTES = 8 * 1024 * 1024  # DESIGN 3: body
MAX_DEPTH = 32  # DESIGN 3: containers inside one another
MAX_NODES = 10_000  # DESIGN 3: values in one action, containers and leaves alike
MAX_SAFE_INTEGER = 2**53 - 1  # RFC 8785 section 3.2.2.3, ECMA-262 Number.MAX_SAFE_INTEGER

_INT_KEY = re.compile(r"\$+int")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse(raw: bytes, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH, max_nodes: int = MAX_NODES) -> Json:
    """The JSON value of `raw`.

    Raises InputError (`input.json|encoding|duplicate_key|number|surrogate|depth|nodes|size`) with the byte offset or
    the JSON pointer of the fault.
    """
    if len(raw) > max_bytes:
        raise InputError(
            f"the body has {len(raw)} bytes, the limit is {max_bytes}; send less",
            reason=Reason.INPUT_SIZE,
            offset=max_bytes,
        )
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(
            "the body is not UTF-8; send JSON as UTF-8", reason=Reason.INPUT_ENCODING, offset=error.start
        ) from None
    if raw.count(b",") + raw.count(b"[") + raw.count(b"{") > max_nodes:
        _bound_structure(raw, max_nodes)
    try:
        value: Json = _DECODER.decode(text)
    except JSONDecodeError as error:
        offset = len(text[: error.pos].encode("utf-8"))
        raise InputError(f"not JSON: {error.msg.lower()}", reason=Reason.INPUT_JSON, offset=offset) from None
    except _DuplicateKeyError as error:
        raise InputError(
            f"the key `{_shown(error.key)}` stands twice in one object; send it once",
            reason=Reason.INPUT_DUPLICATE_KEY,
            offset=_offset_of_duplicate(text, error.key),
        ) from None
    except _NumberError as error:
        offset = len(text[: max(text.find(error.token), 0)].encode("utf-8"))
        raise InputError(
            f"the number `{_shown(error.token)}` is out of range; send it as a string",
            reason=Reason.INPUT_NUMBER,
            offset=offset,
        ) from None
    except RecursionError:
        raise _too_deep(max_depth) from None
    _measure(value, max_depth, max_nodes, surrogates=_SURROGATE_ESCAPE.search(raw) is not None)
    return value


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
        value: Json = _unwrap(_CANONICAL_DECODER.decode(canonical.decode("utf-8")))
    except (ValueError, RecursionError, _DuplicateKeyError, _NumberError):
        raise InputError("the bytes are not canonical JSON", reason=Reason.INPUT_JSON) from None
    if encode(value) != canonical:
        raise InputError("the bytes are not in canonical form", reason=Reason.INPUT_JSON)
    return value


def canonicalise(value: Any) -> tuple[bytes, Json]:
    """The `shield-jcs-1` bytes of a value, and the value that they stand for. Raises InputError as `encode` does."""
    canonical = encode(value)
    # INVARIANT: what encode() wrote is canonical, so reading it back needs no second look
    text = canonical.decode("utf-8")
    read_back = _CANONICAL_DECODER.decode(text)
    return canonical, _unwrap(read_back) if '"$' in text else read_back  # no other key is an escaped one


def digest(canonical: bytes) -> str:
    """`sha256:` + 64 lower-case hex digits."""
    return "sha256:" + hashlib.sha256(canonical).hexdigest()


# --- reading ---------------------------------------------------------------------------------------------------------


class _DuplicateKeyError(Exception):
    def __init__(self, key: str) -> None:
        self.key = key


class _NumberError(Exception):
    def __init__(self, token: str) -> None:
        self.token = token


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _DuplicateKeyError(key)
            seen.add(key)
    return value


def _float(token: str) -> float:
    value = float(token)
    if math.isinf(value):
        raise _NumberError(token)
    return value


def _int(token: str) -> int:
    try:
        return int(token)
    except ValueError:  # more digits than int() converts: quadratic time, refused by Python itself
        raise _NumberError(token) from None


def _canonical_int(token: str) -> int | float:
    # INVARIANT: encode() writes a bare integer beyond the safe range only for a float, so read it back as one
    value = _int(token)
    return value if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else float(value)


def _constant(token: str) -> NoReturn:
    raise _NumberError(token)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_float, parse_int=_int, parse_constant=_constant, strict=True
)
_CANONICAL_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_float, parse_int=_canonical_int, parse_constant=_constant, strict=True
)


def _too_deep(max_depth: int, pointer: str | None = None) -> InputError:
    detail = f"containers are nested deeper than {max_depth}; flatten the value"
    return InputError(detail, reason=Reason.INPUT_DEPTH, pointer=pointer)


def _too_many(max_nodes: int) -> InputError:
    return InputError(f"more than {max_nodes} values; split the action", reason=Reason.INPUT_NODES)


def _bound_structure(raw: bytes, max_nodes: int) -> None:
    """Refuse before building when the structure alone, strings left out, has too many values."""
    bare = _STRING.sub(b"", raw)
    if bare.count(b",") + bare.count(b"[") + bare.count(b"{") > 2 * max_nodes:
        raise _too_many(max_nodes)


def _measure(value: Any, max_depth: int, max_nodes: int, *, surrogates: bool) -> None:
    """Depth, node count and, where an escape could have made one, lone surrogates."""
    nodes = depth = 0
    level: list[Any] = [value]
    while level:
        nodes += len(level)
        if nodes > max_nodes:
            raise _too_many(max_nodes)
        below: list[Any] = []
        containers = False
        for item in level:
            if type(item) is dict:
                containers = True
                below.extend(item.values())
            elif type(item) is list:
                containers = True
                below.extend(item)
        if containers and depth >= max_depth:
            raise _too_deep(max_depth, next(p for p, d, v in _walk(value) if d >= max_depth and _is_container(v)))
        level = below
        depth += 1
    if surrogates:
        for pointer, _, item in _walk(value):
            texts = item if type(item) is dict else (item,)
            if any(type(text) is str and _SURROGATE.search(text) for text in texts):
                raise InputError(
                    "a string holds a lone surrogate; send well-formed Unicode",
                    reason=Reason.INPUT_SURROGATE,
                    pointer=pointer,
                )


def _is_container(value: Any) -> bool:
    return type(value) is dict or type(value) is list


def _walk(value: Any) -> Iterator[tuple[str, int, Any]]:
    """Every value with its RFC 6901 pointer and depth, in document order."""
    stack: list[tuple[str, int, Any]] = [("", 0, value)]
    while stack:
        pointer, depth, item = stack.pop()
        yield pointer, depth, item
        if type(item) is dict:
            children = [(f"{pointer}/{_token(key)}", depth + 1, child) for key, child in item.items()]
        elif type(item) is list:
            children = [(f"{pointer}/{index}", depth + 1, child) for index, child in enumerate(item)]
        else:
            continue
        stack.extend(reversed(children))


def _token(key: str) -> str:
    return _SURROGATE.sub("\ufffd", key).replace("~", "~0").replace("/", "~1")


def _offset_of_duplicate(text: str, key: str) -> int | None:
    """Byte offset of the second of two equal keys in one object: a scan that only runs to report the fault."""
    stack: list[set[str]] = []
    expect_key = False
    position = 0
    while position < len(text):
        char = text[position]
        if char == '"':
            name, end = scanstring(text, position + 1, True)
            if expect_key and stack and name == key:
                if name in stack[-1]:
                    return len(text[:position].encode("utf-8"))
                stack[-1].add(name)
            expect_key = False
            position = end
            continue
        if char in "{[":
            stack.append(set())
            expect_key = char == "{"
            # a list's level never expects a key: the marker below keeps objects and lists apart
            if char == "[":
                stack[-1].add("\0list")
        elif char in "}]" and stack:
            stack.pop()
        elif char == ",":
            expect_key = bool(stack) and "\0list" not in stack[-1]
        position += 1
    return None


def _shown(text: str) -> str:
    return text if len(text) <= 64 else text[:61] + "…"


# --- writing ---------------------------------------------------------------------------------------------------------

_FAST = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False
)
_quote = json.encoder.encode_basestring  # the escapes of RFC 8785 section 3.2.2.2, nothing else escaped


class _Prepared:
    """One walk: checks, escapes `$int`, and notes whether json's own writer would differ from RFC 8785."""

    __slots__ = ("left", "limit", "slow")

    def __init__(self, max_nodes: int) -> None:
        self.limit = self.left = max_nodes
        self.slow = False

    def take(self, value: Any, depth: int, pointer: str) -> Any:
        self.left -= 1
        if self.left < 0:
            raise _too_many(self.limit)
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
                raise _too_deep(MAX_DEPTH)
            return [self.take(item, depth - 1, f"{pointer}/{index}") for index, item in enumerate(value)]
        if isinstance(value, Mapping):
            return self._mapping(value, depth, pointer)
        if isinstance(value, str):
            return str.__str__(value)
        raise InputError(f"a value of type `{kind.__name__}` is not JSON", reason=Reason.INPUT_FIELD, pointer=pointer)

    def _mapping(self, value: Mapping[Any, Any], depth: int, pointer: str) -> dict[str, Any]:
        if depth == 0:
            raise _too_deep(MAX_DEPTH)
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
            raise _too_many(self.limit)
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
