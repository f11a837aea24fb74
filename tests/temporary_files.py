"""A folder that is taken for the temporary one of the machine, and what a command has in its place."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentctl.sandbox import temporary
from agentctl.sandbox.copied import Copied
from agentctl.sandbox.lent import Lent, Opened
from agentctl.sandbox.mounts import Show, View
from shield.types import FileIdentity

__all__ = ["both", "free_name", "open_files", "own", "seen", "shared"]


@pytest.fixture(name="name")
def free_name(inside: Any) -> Iterator[str]:
    """A path in the temporary folder of the machine, where nothing is."""
    path = f"/tmp/lent-{inside.pid}"
    yield path
    inside(f"rm -rf {path}*", "none")


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is taken for the temporary one."""
    folder = tmp_path / "shared"
    folder.mkdir()
    (tmp_path / "own").mkdir()
    monkeypatch.setattr(temporary, "TEMPORARY", (str(folder),))
    return folder


@pytest.fixture
def own(shared: Path) -> Path:
    """What the command has in the place of `shared`."""
    return shared.parent / "own"


@pytest.fixture
def open_files() -> Iterator[None]:
    """Nothing is left open."""
    before = len(os.listdir("/proc/self/fd"))
    yield
    assert len(os.listdir("/proc/self/fd")) == before


def seen(shared: Path, **places: Show) -> View:
    """What a command sees that has the folder `own` beside `shared` in its place."""
    own = str(shared.parent / "own")
    table = {str(shared): Show.PRIVATE} | {str(shared / name): show for name, show in places.items()}
    return View(base=Show.READONLY, places=table, sources={str(shared): own}, watched=())


def both(shared: Path, files: list[FileIdentity], lent: Lent | None = None) -> list[Copied | Opened]:
    """The files shared by each means."""
    return [means(seen(shared), files, lent) for means in (Copied, Opened)]
