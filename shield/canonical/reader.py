"""Strict JSON in: what two readers could understand differently is refused, with its place."""

import re
from collections.abc import Iterator
from json import JSONDecodeError
from json.decoder import scanstring  # type: ignore[attr-defined]  # public in CPython, missing in typeshed
from typing import Any

from shield.canonical.decoder import DECODER, DuplicateKeyError, NumberError
from shield.canonical.limits import MAX_BYTES, MAX_DEPTH, MAX_NODES, too_deep, too_many
from shield.errors import InputError, Reason
from shield.regex import regex
from shield.types import Json

__all__ = ["parse"]

_STRING = regex(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SURROGATE_ESCAPE = regex(rb"\\u[dD][89a-fA-F]")
_SURROGATE = regex("[\ud800-\udfff]")


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
        value: Json = DECODER.decode(text)
    except JSONDecodeError as error:
        offset = len(text[: error.pos].encode("utf-8"))
        raise InputError(f"not JSON: {error.msg.lower()}", reason=Reason.INPUT_JSON, offset=offset) from None
    except DuplicateKeyError as error:
        raise InputError(
            f"the key `{_shown(error.key)}` stands twice in one object; send it once",
            reason=Reason.INPUT_DUPLICATE_KEY,
            offset=_offset_of_duplicate(text, error.key),
        ) from None
    except NumberError as error:
        offset = len(text[: max(text.find(error.token), 0)].encode("utf-8"))
        raise InputError(
            f"the number `{_shown(error.token)}` is out of range; send it as a string",
            reason=Reason.INPUT_NUMBER,
            offset=offset,
        ) from None
    except RecursionError:
        raise too_deep(max_depth) from None
    _measure(value, max_depth, max_nodes, surrogates=_SURROGATE_ESCAPE.search(raw) is not None)
    return value


def _bound_structure(raw: bytes, max_nodes: int) -> None:
    """Refuse before building when the structure alone, strings left out, has too many values."""
    bare = _STRING.sub(b"", raw)
    if bare.count(b",") + bare.count(b"[") + bare.count(b"{") > 2 * max_nodes:
        raise too_many(max_nodes)


def _measure(value: Any, max_depth: int, max_nodes: int, *, surrogates: bool) -> None:
    """Depth, node count and, where an escape could have made one, lone surrogates."""
    nodes = depth = 0
    level: list[Any] = [value]
    while level:
        nodes += len(level)
        if nodes > max_nodes:
            raise too_many(max_nodes)
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
            raise too_deep(max_depth, next(p for p, d, v in _walk(value) if d >= max_depth and _is_container(v)))
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
