"""Where an action would take place, from the session it was asked in."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from shield.facts.filesystem import FileKind, FileSystem, FileSystemUnknownError
from shield.facts.place import Place, Protected
from shield.facts.snapshot import Snapshot
from shield.pipeline.sessions import SessionBook
from shield.types import ActionRequest, Session

__all__ = ["Places"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where an action would take place: the session's world, or one without a workspace.

    Each answer has a view of the disk of its own, from which both the facts and what a permit binds are taken.
    """

    files: FileSystem
    home: str
    shell: str
    env: Mapping[str, str]
    sessions: SessionBook
    protected: Protected

    def __call__(self, request: ActionRequest, session: Session | None) -> Place:
        if session is None:
            return Place(
                files=Snapshot(self.files),
                home=self.home,
                cwd=request.action.cwd,
                workspace_roots=(),
                env=self.env,
                shell=self.shell,
                platform=sys.platform,
                protected=self.protected,
            )
        files = Snapshot(self.files)
        return Place(
            files=files,
            home=session.home,
            cwd=request.action.cwd,
            workspace_roots=_standing(session, files),
            env=session.env,
            shell=session.shell,
            platform=sys.platform,
            isolation=session.isolation,
            protected=self.protected.with_processes(session.pids),
            session=self.sessions.facts(session),
        )


def _standing(session: Session, files: FileSystem) -> tuple[str, ...]:
    """The workspace roots that are still the directories they were when the session began.

    INVARIANT: whoever puts a link or another directory in a root's place makes nothing else the workspace.
    """
    return tuple(
        root
        for root, identity in zip(session.workspace_roots, session.root_ids, strict=True)
        if _is_still(root, identity, files)
    )


def _is_still(root: str, identity: tuple[int, int], files: FileSystem) -> bool:
    try:
        found = files.lstat(root)
    except FileSystemUnknownError:
        return False
    return found is not None and found.kind is FileKind.DIRECTORY and (found.dev, found.ino) == identity
