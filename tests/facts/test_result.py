"""The resulting content, exactly as the tool would leave it, or unknown."""

import hashlib

import pytest

from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.facts.compute import compute
from shield.facts.made import MadeFile, MadeFiles
from shield.facts.place import Place
from shield.types import Facts

_FILES = MadeFiles(
    {
        "a.txt": MadeFile(content="one two one é\n".encode()),
        "crlf.txt": MadeFile(content=b"a\r\nb\r\n"),
        "binary": MadeFile(content=b"\xff\xfeone"),
        "large": MadeFile(content=b"x" * ((4 << 20) + 1)),
    }
)
_PLACE = Place(files=_FILES, home="/home/user", cwd="/home/user/ws", workspace_roots=("/home/user/ws",))


def _facts(name: str, **payload: object) -> Facts:
    return compute(make_action(name, payload, "/home/user/ws"), lookup(name), _PLACE)


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"path": "a.txt", "old": "two", "new": "2"}, "one 2 one é\n"),
        ({"path": "a.txt", "old": "one", "new": "1", "all": True}, "1 two 1 é\n"),
        ({"path": "a.txt", "old": "é\n", "new": ""}, "one two one "),
        ({"path": "crlf.txt", "old": "a\r\n", "new": "a\n"}, "a\nb\r\n"),
    ],
)
def test_edits(payload: dict[str, object], expected: str) -> None:
    facts = _facts("edit_file", **payload)
    assert not facts.unknown
    (result,) = facts.result
    assert result.text == expected
    assert result.bytes == len(expected.encode())
    assert result.sha256 == f"sha256:{hashlib.sha256(expected.encode()).hexdigest()}"


@pytest.mark.parametrize(
    "payload",
    [
        {"path": "a.txt", "old": "one", "new": "1"},
        {"path": "a.txt", "old": "three", "new": "3"},
        {"path": "a.txt", "old": "three", "new": "3", "all": True},
        {"path": "a.txt", "old": "", "new": "3"},
        {"path": "a.txt", "new": "3"},
        {"path": "a.txt", "old": "two"},
        {"path": "missing", "old": "two", "new": "2"},
        {"path": "binary", "old": "one", "new": "2"},
        {"path": "large", "old": "x", "new": "2", "all": True},
        {"path": ".", "old": "x", "new": "y"},
    ],
)
def test_what_the_tool_would_refuse_is_unknown(payload: dict[str, object]) -> None:
    facts = _facts("edit_file", **payload)
    assert facts.result == ()
    assert facts.unknown


def test_writes() -> None:
    (result,) = _facts("write_file", path="new", content="é").result
    assert (result.path, result.bytes, result.text) == ("/home/user/ws/new", 2, "é")
    (empty,) = _facts("write_file", path="new").result
    assert empty.bytes == 0
    big = _facts("write_file", path="new", content="x" * ((1 << 20) + 1))
    assert big.result[0].text is None
    assert big.result[0].bytes == (1 << 20) + 1
    assert _facts("write_file", path="~root/x", content="x").result == ()
