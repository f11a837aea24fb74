"""What protection guards on this machine: our state, every directory our code is imported from, who we are."""

import os
import sys
from collections.abc import Sequence

from shield.config import Config, Home, split_tcp
from shield.facts.place import Protected

__all__ = ["protected"]


def protected(
    home: Home, config: Config, *, pids: frozenset[int], import_path: Sequence[str] = tuple(sys.path)
) -> Protected:
    """All of it, resolved. Hosts' hook settings stand in the facts' own table of fixed places."""
    state = {home.path, os.path.dirname(home.socket(config)), home.socket(config)}
    code = {entry for entry in import_path if os.path.isdir(entry)}
    code |= {os.path.dirname(sys.executable), os.path.dirname(os.path.realpath(sys.executable))}
    ports = frozenset() if config.service.tcp is None else frozenset({split_tcp(config.service.tcp)[1]})
    return Protected(
        state=_resolved(state),
        code=_resolved(code),
        ports=ports,
        pids=pids,
        identity=config.protection.identity,
        instructions=config.protection.instructions,
        memory=config.protection.memory,
    )


def _resolved(paths: set[str]) -> tuple[str, ...]:
    # INVARIANT: `/` is never in it, or nothing at all could be written
    return tuple(sorted({os.path.realpath(path) for path in paths if path} - {"/"}))
