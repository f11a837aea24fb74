"""What a file would hold after a write or an edit: the whole of it, so that content is judged and not a fragment."""

import hashlib
from collections.abc import Mapping, Sequence

from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.place import Place
from shield.types import Access, Action, Json, PathFact, ResultFact

__all__ = ["MAX_RESULT", "results"]

MAX_RESULT = 4 << 20  # bytes of a file that is edited
_MAX_TEXT = 1 << 20  # bytes up to which the whole text is a fact


class _UnknownResultError(Exception):
    """Why the resulting content cannot be told."""


def results(action: Action, paths: Sequence[PathFact], place: Place) -> tuple[tuple[ResultFact, ...], tuple[str, ...]]:
    """The results of a `write_file` or `edit_file`, and a line for each that cannot be told. Other types have none."""
    if action.type not in ("write_file", "edit_file"):
        return (), ()
    target = next((path for path in paths if path.source == "/path" and path.access is Access.WRITE), None)
    if target is None or target.resolved is None:
        return (), ("the content that would be written: where it goes is not known",)
    try:
        whole = _written(action.payload) if action.type == "write_file" else _edited(action.payload, target, place)
    except _UnknownResultError as error:
        return (), (f"the content that would be written: {error}",)
    except FileSystemUnknownError:
        return (), ("the content that would be written: the file that is edited cannot be read",)
    raw = whole.encode("utf-8")
    digest = f"sha256:{hashlib.sha256(raw).hexdigest()}"
    text = whole if len(raw) <= _MAX_TEXT else None
    return (ResultFact(path=target.resolved, sha256=digest, bytes=len(raw), text=text),), ()


def _written(payload: Mapping[str, Json]) -> str:
    content = payload.get("content", "")
    if not isinstance(content, str):
        raise _UnknownResultError("`content` is no text")
    return content


def _edited(payload: Mapping[str, Json], target: PathFact, place: Place) -> str:
    """`old` replaced by `new`, exactly as the tool does it: once where it stands once, everywhere with `all`."""
    old, new, every = payload.get("old"), payload.get("new"), payload.get("all", False)
    if not isinstance(old, str) or not isinstance(new, str) or not isinstance(every, bool):
        raise _UnknownResultError("`old` and `new` are not both texts")
    if not target.exists or target.resolved is None:
        raise _UnknownResultError("there is no file to edit")
    raw = place.files.read(target.resolved, MAX_RESULT)
    if raw is None:
        raise _UnknownResultError("the file that is edited is too large")
    try:
        before = raw.decode("utf-8", "strict")
    except UnicodeDecodeError:
        raise _UnknownResultError("the file that is edited is not UTF-8") from None
    count = before.count(old) if old else 0
    if count == 0 or (count > 1 and not every):
        raise _UnknownResultError(f"`old` stands {count} times in the file that is edited, not once")
    if len(raw) + count * len(new.encode("utf-8")) > 2 * MAX_RESULT:
        raise _UnknownResultError("it would be too large")
    return before.replace(old, new)
