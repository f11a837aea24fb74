"""Python's JSON decoder, made strict: duplicate keys, infinities and numbers that are too long are errors."""

import json
import math
from typing import Any, NoReturn

from shield.canonical.limits import MAX_SAFE_INTEGER

__all__ = ["CANONICAL_DECODER", "DECODER", "DuplicateKeyError", "NumberError"]


class DuplicateKeyError(Exception):
    def __init__(self, key: str) -> None:
        self.key = key


class NumberError(Exception):
    def __init__(self, token: str) -> None:
        self.token = token


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise DuplicateKeyError(key)
            seen.add(key)
    return value


def _float(token: str) -> float:
    value = float(token)
    if math.isinf(value):
        raise NumberError(token)
    return value


def _int(token: str) -> int:
    try:
        return int(token)
    except ValueError:  # more digits than int() converts: quadratic time, refused by Python itself
        raise NumberError(token) from None


def _canonical_int(token: str) -> int | float:
    # INVARIANT: encode() writes a bare integer beyond the safe range only for a float, so read it back as one
    value = _int(token)
    return value if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER else float(value)


def _constant(token: str) -> NoReturn:
    raise NumberError(token)


DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_float, parse_int=_int, parse_constant=_constant, strict=True
)
CANONICAL_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_float, parse_int=_canonical_int, parse_constant=_constant, strict=True
)
