"""ONNX files from their parts, by hand (onnx.proto): neither tests nor benchmarks need the `onnx` package for them."""

from collections.abc import Mapping, Sequence

import numpy as np

__all__ = ["field", "model", "node", "tensor"]

_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "float16": 10, "float64": 11}
Attribute = int | float | Sequence[int] | bytes


def varint(number: int) -> bytes:
    """Base 128, least significant first; a negative one as 64 bits."""
    number &= (1 << 64) - 1
    found = bytearray()
    while number > 0x7F:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    found.append(number)
    return bytes(found)


def field(number: int, value: int | bytes | str) -> bytes:
    """One field of a message: a varint, or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def tensor(name: str, array: np.ndarray) -> bytes:
    """A TensorProto with its values inside."""
    kind = _TYPES[array.dtype.name]
    dims = b"".join(field(1, size) for size in array.shape)
    return dims + field(2, kind) + field(8, name) + field(9, np.ascontiguousarray(array).tobytes())


def node(
    operator: str, inputs: Sequence[str], outputs: Sequence[str], domain: str = "", **attributes: Attribute
) -> bytes:
    """A NodeProto; attributes are whole numbers, floats, lists of whole numbers, or an encoded TensorProto."""
    found = b"".join(field(1, name) for name in inputs) + b"".join(field(2, name) for name in outputs)
    found += field(4, operator) + field(7, domain)
    return found + b"".join(field(5, _attribute(name, value)) for name, value in attributes.items())


def model(
    nodes: Sequence[bytes],
    tensors: Sequence[bytes],
    inputs: Mapping[str, tuple[str, Sequence[int | str]]],
    outputs: Mapping[str, tuple[str, Sequence[int | str]]],
) -> bytes:
    """A ModelProto of operator set 17; a size that is a word is dynamic."""
    graph = (
        b"".join(field(1, part) for part in nodes) + field(2, "graph") + b"".join(field(5, part) for part in tensors)
    )
    graph += b"".join(field(11, _value(name, *shape)) for name, shape in inputs.items())
    graph += b"".join(field(12, _value(name, *shape)) for name, shape in outputs.items())
    domains = ((b"", 17), (b"com.microsoft", 1))
    sets = b"".join(field(8, field(1, domain) + field(2, version)) for domain, version in domains)
    return field(1, 8) + field(7, graph) + sets


def _attribute(name: str, value: Attribute) -> bytes:
    begun = field(1, name)
    if isinstance(value, float):
        return begun + varint(2 << 3 | 5) + np.float32(value).tobytes() + field(20, 1)
    if isinstance(value, int):
        return begun + field(3, value) + field(20, 2)
    if isinstance(value, bytes):
        return begun + field(5, value) + field(20, 4)
    return begun + b"".join(field(8, item) for item in value) + field(20, 7)


def _value(name: str, kind: str, shape: Sequence[int | str]) -> bytes:
    dims = b"".join(field(1, field(1 if isinstance(size, int) else 2, size)) for size in shape)
    return field(1, name) + field(2, field(1, field(1, _TYPES[kind]) + field(2, dims)))
