"""Where an action would take place, from the session it was asked in."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from shield.facts.filesystem import FileSystem
from shield.facts.place import Place, Protected
from shield.pipeline.sessions import SessionBook
from shield.types import ActionRequest, Session

__all__ = ["Places"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where an action would take place: the session's world, or one without a workspace."""

    files: FileSystem
    home: str
    shell: str
    env: Mapping[str, str]
    sessions: SessionBook
    protected: Protected

    def __call__(self, request: ActionRequest, session: Session | None) -> Place:
        if session is None:
            return Place(
                files=self.files,
                home=self.home,
                cwd=request.action.cwd,
                workspace_roots=(),
                env=self.env,
                shell=self.shell,
                platform=sys.platform,
                protected=self.protected,
            )
        return Place(
            files=self.files,
            home=session.home,
            cwd=request.action.cwd,
            workspace_roots=session.workspace_roots,
            env=session.env,
            shell=session.shell,
            platform=sys.platform,
            isolation=session.isolation,
            protected=self.protected,
            session=self.sessions.facts(session),
        )
