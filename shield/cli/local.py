"""The place that `shield check` judges in: this machine's disk, with the home and workspace it was told."""

import functools
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from shield.config.environment import exec_env
from shield.config.home import Home, agent_homes, checkpoints_folder, home_from, user_home
from shield.errors import ConfigError
from shield.facts.local import LocalFiles
from shield.facts.place import Place, Protected
from shield.policy.load import load_policy, with_workspace
from shield.policy.set import PolicySet
from shield.policy.shelf import shipped_shelf
from shield.service.guarded import installed_code
from shield.service.installation import installation
from shield.tiers.floor import required_isolation
from shield.types import Facts, Isolation, Json

__all__ = ["Judged", "Local", "configured_policy", "local"]

_DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """By what an action was judged. `isolation` None: the verdict does not depend on it; `offered`: it was tried."""

    policy: str
    isolation: Isolation | None
    offered: bool = False

    @property
    def text(self) -> str:
        """For a person."""
        if self.isolation is None:
            return f"policy {self.policy}, whatever the isolation"
        return f"policy {self.policy}, isolation {self.isolation.value}{' (what holds here)' if self.offered else ''}"

    def as_json(self) -> dict[str, Json]:
        return {"policy": self.policy, "isolation": None if self.isolation is None else self.isolation.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Local:
    """A policy set and the place without a `cwd`; `default_cwd` stands for an absent one.

    `name` is what the policy goes by; `from_settings`: nobody named it here, and it is another than the default.

    `level` finds out the sandbox level where none was given, None where one was; it is asked once.
    """

    policy: PolicySet
    place: Place
    default_cwd: str | None
    name: str = _DEFAULT
    from_settings: bool = False
    level: Callable[[], Isolation] | None = None

    def at(self, cwd: str | None) -> Place:
        return replace(self.place, cwd=cwd)

    def deferring(self, level: Callable[[], Isolation]) -> "Local":
        """The same with a level that is found out only where an action depends on it."""
        return replace(self, level=functools.cache(level))

    def placed(self, place: Place, facts: Facts) -> tuple[Place, Judged]:
        """Where an action with these facts is to be judged, and by what: the level is found out where they depend on
        it. The place is `place` itself where they do not."""
        if self.level is None:
            return place, Judged(policy=self.name, isolation=place.isolation)
        if place.isolation.covers(required_isolation(facts)):
            return place, Judged(policy=self.name, isolation=None)
        level = self.level()
        return replace(place, isolation=level), Judged(policy=self.name, isolation=level, offered=True)


def local(
    environ: Mapping[str, str],
    *,
    policy: str | None,
    workspace: str | None,
    home: str | None,
    isolation: Isolation,
    current: str,
) -> Local:
    """What a dry run on this machine judges with; `policy` None is what the settings name. Reads policies, writes
    nothing, needs no `shield init`.

    Raises:
        ConfigError: settings that do not load, no shell, or a workspace that would be everything.
        PolicyError: the policy does not load.
    """
    state = home_from(environ)
    shell, env = exec_env((), environ)
    user = os.path.abspath(home) if home is not None else user_home(environ)
    root = _root(os.path.abspath(workspace), user) if workspace is not None else _usable(current, user)
    owners = [Path(state.policies)] if os.path.isdir(state.policies) else []
    name = configured_policy(state, environ) if policy is None else policy
    loaded = load_policy(name, shipped_shelf(*owners))
    return Local(
        policy=with_workspace(loaded, Path(root)) if root is not None else loaded,
        place=Place(  # `shell` names the shell that commands would be run with; nothing is started
            files=LocalFiles(),
            home=user,
            cwd=None,
            workspace_roots=(root,) if root is not None else (),
            env=MappingProxyType({**env, "HOME": user}),
            shell=shell,
            platform="darwin" if sys.platform == "darwin" else "linux",
            isolation=isolation,
            protected=_protected(state, environ, path=env["PATH"]),
        ),
        default_cwd=root if root is not None else current,
        name=name,
        from_settings=policy is None and name != _DEFAULT,
    )


def configured_policy(state: Home, environ: Mapping[str, str]) -> str:
    """The policy that a Shield of this home would judge with: what `shield.toml` or `SHIELD_POLICY` names.

    Raises ConfigError where the settings do not load."""
    if not os.path.lexists(state.toml) and "SHIELD_POLICY" not in environ:
        return _DEFAULT
    from shield.config.loading import load  # heavy, and only for a home with settings
    from shield.service.rulebook import owner_reference

    return owner_reference(state, load(state, environ))


def _protected(state: Home, environ: Mapping[str, str], *, path: str) -> Protected:
    # No service runs, so where its socket would be, and whether its path is short enough, is of no concern: the whole
    # home is guarded, and the default socket is in it.
    outside = (*agent_homes(environ), checkpoints_folder(None, environ))
    return replace(installed_code(installation(path=path)), state=(state.path, *outside))


def _root(workspace: str, user: str) -> str:
    if _usable(workspace, user) is None:
        raise ConfigError(f"`{workspace}` cannot be a workspace: it is or holds the home directory; name one inside")
    return workspace


def _usable(workspace: str, user: str) -> str | None:
    """The directory, unless it is `/`, the home or above the home: such a workspace would be everything."""
    resolved, home = os.path.realpath(workspace), os.path.realpath(user)
    if resolved == "/" or home == resolved or home.startswith(f"{resolved}/"):
        return None
    return workspace
