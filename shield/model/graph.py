"""What an ONNX file may ask for, read from its bytes (onnx.proto) before a runtime sees them.

Refused are weights outside the file, operators of a custom library, loops and local functions: none stands in an
exported text classifier, and each would make the hash of the file say less than what runs.
"""

from collections.abc import Iterator
from typing import Final

from shield.errors import ModelError

__all__ = ["check_graph"]

# Field numbers of onnx.proto
_MODEL_GRAPH: Final = 7
_MODEL_FUNCTIONS: Final = 25
_GRAPH_NODE: Final = 1
_GRAPH_TENSORS: Final = 5
_GRAPH_SPARSE: Final = 15
_NODE_OPERATOR: Final = 4
_NODE_ATTRIBUTE: Final = 5
_NODE_DOMAIN: Final = 7
_ATTRIBUTE_TENSORS: Final = (5, 10)
_ATTRIBUTE_GRAPHS: Final = (6, 11)
_ATTRIBUTE_SPARSE: Final = (22, 23)
_SPARSE_TENSORS: Final = (1, 2)
_TENSOR_EXTERNAL: Final = 13
_TENSOR_LOCATION: Final = 14

_DOMAINS: Final = frozenset({b"", b"ai.onnx", b"ai.onnx.ml", b"com.microsoft"})  # those of onnxruntime itself
_LOOPS: Final = frozenset({b"Loop", b"Scan", b"SequenceMap"})
_MAX_DEPTH: Final = 16
_HINT: Final = "export it anew into one file with `optimum-cli export onnx`"


def check_graph(model: bytes) -> None:
    """Refuse an ONNX model that asks for more than its own bytes. Raises ModelError."""
    graphs = 0
    for field, value in _fields(memoryview(model)):
        if field == _MODEL_FUNCTIONS:
            raise ModelError(f"the graph brings functions of its own; {_HINT}")
        if field == _MODEL_GRAPH and isinstance(value, memoryview):
            graphs += 1
            _graph(value, 0)
    # protobuf merges a field that comes twice: what was checked in two halves would run as one
    if graphs != 1:
        raise ModelError(f"the file is no ONNX model, or is cut short; {_HINT}")


def _graph(graph: memoryview, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise ModelError(f"the graph nests deeper than {_MAX_DEPTH} levels; {_HINT}")
    for field, value in _fields(graph):
        if not isinstance(value, memoryview):
            continue
        if field == _GRAPH_NODE:
            _node(value, depth)
        elif field == _GRAPH_TENSORS:
            _tensor(value)
        elif field == _GRAPH_SPARSE:
            _sparse(value)


def _node(node: memoryview, depth: int) -> None:
    for field, value in _fields(node):
        if not isinstance(value, memoryview):
            continue
        if field == _NODE_DOMAIN and bytes(value) not in _DOMAINS:
            shown = bytes(value[:64]).decode("utf-8", "replace")
            raise ModelError(f"the graph uses operators of the custom library `{shown}`; {_HINT}")
        if field == _NODE_OPERATOR and bytes(value) in _LOOPS:
            raise ModelError(f"the graph has a loop (`{bytes(value).decode()}`), so its time is not bounded; {_HINT}")
        if field == _NODE_ATTRIBUTE:
            _attribute(value, depth)


def _attribute(attribute: memoryview, depth: int) -> None:
    for field, value in _fields(attribute):
        if not isinstance(value, memoryview):
            continue
        if field in _ATTRIBUTE_TENSORS:
            _tensor(value)
        elif field in _ATTRIBUTE_SPARSE:
            _sparse(value)
        elif field in _ATTRIBUTE_GRAPHS:
            _graph(value, depth + 1)


def _sparse(tensor: memoryview) -> None:
    for field, value in _fields(tensor):
        if field in _SPARSE_TENSORS and isinstance(value, memoryview):
            _tensor(value)


def _tensor(tensor: memoryview) -> None:
    for field, value in _fields(tensor):
        if field == _TENSOR_EXTERNAL or (field == _TENSOR_LOCATION and value != 0):
            raise ModelError(f"the graph keeps weights outside its file; {_HINT}")


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of one protobuf message: numbers of varints, bytes of what has a length. Raises ModelError."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        wire = tag & 7
        if wire == 0:
            number, at = _varint(message, at)
            yield tag >> 3, number
            continue
        if wire not in (1, 2, 5):
            raise ModelError(f"the file is no ONNX model, or is damaged; {_HINT}")
        if wire == 2:  # length-delimited
            size, at = _varint(message, at)
        else:
            size = 8 if wire == 1 else 4
        if at + size > len(message):
            raise ModelError(f"the file is no ONNX model, or is cut short; {_HINT}")
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    number = 0
    for shift in range(0, 70, 7):
        if at >= len(message):
            break
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:  # the last byte has no continuation bit
            return number, at
    raise ModelError(f"the file is no ONNX model, or is cut short; {_HINT}")
