"""The made world in which examples of rules and cases of policies are judged: nothing in it is of this machine."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from types import MappingProxyType
from typing import Final

from shield.facts.made import MadeFile, MadeFiles
from shield.facts.place import Place, Protected
from shield.policy.reader import List, Map, Node, Scalar
from shield.policy.shape import Shape
from shield.types import Isolation, SessionFacts

__all__ = ["AGENT", "HOME", "NOW", "WORKSPACE", "made_place", "read_files"]

HOME: Final = "/home/user"
WORKSPACE: Final = "/home/user/ws"
AGENT: Final = "agent"
NOW: Final = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
_ENV: Final[Mapping[str, str]] = MappingProxyType(
    {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": HOME, "LANG": "C.UTF-8", "USER": "user"}
)
_PROTECTED = Protected(
    state=(f"{HOME}/.shield",), code=("/opt/shield",), host_config=(f"{HOME}/.claude/settings.json",)
)
MAX_FILES = 1_000


def made_place(
    files: Mapping[str, MadeFile] | None = None,
    *,
    cwd: str | None = WORKSPACE,
    session: SessionFacts | None = None,
    isolation: Isolation = Isolation.CONFINED,
) -> Place:
    """CONTRACTS "Examples in rules": an empty home and workspace but for `files`, a plain Linux around them.

    The sandbox is a made one, too: what a rule says must not depend on the machine that checks it.
    """
    return Place(  # noqa: S604 - `shell` names the shell of the made world, nothing is started
        files=MadeFiles(files, home=HOME, cwd=WORKSPACE) if files else _empty(),
        home=HOME,
        cwd=cwd,
        workspace_roots=(WORKSPACE,),
        env=_ENV,
        shell="/usr/bin/bash",
        platform="linux",
        isolation=isolation,
        protected=_PROTECTED,
        session=session if session is not None else SessionFacts(),
    )


@cache
def _empty() -> MadeFiles:
    """The world without files of its own: most cases are judged in it, and a world never changes."""
    return MadeFiles({}, home=HOME, cwd=WORKSPACE)


def read_files(node: Node, shape: Shape) -> Mapping[str, MadeFile]:
    """`files:` of a case or example: a path to `{content, mode}` or `{symlink}`.

    Raises:
        PolicyError: at the place of what is wrong.
    """
    entries = shape.mapping(node, "`files`").entries
    if len(entries) > MAX_FILES:
        raise shape.error(f"more than {MAX_FILES} files", node.mark)
    return MappingProxyType({entry.key: _file(entry.value, shape) for entry in entries})


def _file(node: Node, shape: Shape) -> MadeFile:
    keys = shape.mapping(node, "a file", ("content", "symlink", "mode", "directory"))
    link, content, mode, directory = (keys.get(key) for key in ("symlink", "content", "mode", "directory"))
    if link is not None:
        if len(keys.entries) > 1:
            raise shape.error("a link has no other keys than `symlink`", keys.mark)
        return MadeFile(symlink=shape.string(link.value, "symlink"))
    return MadeFile(
        content=shape.string(content.value, "content").encode() if content is not None else b"",
        mode=_mode(mode.value, shape) if mode is not None else None,
        directory=_flag(directory.value, shape) if directory is not None else False,
    )


def _mode(node: Node, shape: Shape) -> int:
    text = shape.string(node, "mode")
    if not (len(text) == 4 and all(digit in "01234567" for digit in text)):
        raise shape.error('`mode` is four octal digits in quotes, such as `"0755"`', node.mark)
    return int(text, 8)


def _flag(node: Node, shape: Shape) -> bool:
    if isinstance(node, Map | List) or not isinstance(node, Scalar) or not isinstance(node.value, bool):
        raise shape.error("`directory` is true or false", node.mark)
    return node.value
