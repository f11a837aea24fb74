"""The policy in force: one set for all, and that set with a workspace's `.shield.yaml` for its sessions.

A reload compiles aside and swaps one reference; what does not load changes nothing."""

import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from shield.config.home import Home
from shield.config.sections import Config
from shield.errors import PolicyError
from shield.policy.load import WORKSPACE_FILE, add_workspace, load_policy
from shield.policy.set import PolicySet
from shield.policy.shelf import shipped_shelf
from shield.types import Session

__all__ = ["Rulebook", "load_owner_policy", "owner_reference"]

_OVERLAY_MAX = 1024 * 1024
_CACHE_MAX = 64
# Stands for what is there but cannot be read as a file: it does not load, so everything there goes to a person.
_UNREADABLE = b"\xff"


def load_owner_policy(home: Home, config: Config) -> PolicySet:
    """The policy that `shield.toml` names: by name (the home's `policies/` first) or as a file. Raises PolicyError."""
    try:
        return load_policy(owner_reference(home, config), shipped_shelf(Path(home.policies)))
    except (OSError, ValueError) as error:
        raise PolicyError(f"the policy `{config.policy}` cannot be read: {error}") from None


def owner_reference(home: Home, config: Config) -> str:
    """The name or the absolute file of the policy that `shield.toml` names."""
    if config.policy.endswith((".yaml", ".yml")):
        # INVARIANT: a relative file is never looked for in the directory Shield happens to be started in
        return os.path.join(home.policies, config.policy)
    return config.policy


class Rulebook:
    """Safe to use from threads: every method reads one reference once."""

    def __init__(self, policy: PolicySet, load: Callable[[], PolicySet]) -> None:
        self._policy = policy
        self._load = load
        self._overlaid: dict[tuple[str, str, str], PolicySet] = {}

    @property
    def policy(self) -> PolicySet:
        return self._policy

    def for_session(self, session: Session | None) -> PolicySet:
        """The policy with every workspace root's overlay, read anew for every call: an edit counts at once."""
        policy = self._policy
        if session is None:
            return policy
        for root in session.workspace_roots:
            path = os.path.join(root, WORKSPACE_FILE)
            raw = _read(path)
            if raw is not None:
                policy = self._with(policy, raw, path)
        return policy

    def compile(self) -> PolicySet:
        """The policy as it is on disk now, not yet in force. Raises PolicyError."""
        return self._load()

    def swap(self, policy: PolicySet) -> None:
        """Put `policy` in force."""
        self._policy = policy
        self._overlaid = {}

    def rule_errors(self) -> Mapping[str, int]:
        """Conditions that failed while judging, by rule, since this policy came into force."""
        found = dict(self._policy.errors)
        for policy in tuple(self._overlaid.values()):
            for rule, count in policy.errors.items():
                found[rule] = max(count, found.get(rule, 0))
        return found

    def _with(self, policy: PolicySet, raw: bytes, path: str) -> PolicySet:
        key = (policy.digest, hashlib.sha256(raw).hexdigest(), path)
        cache = self._overlaid
        found = cache.get(key)
        if found is None:
            found = add_workspace(policy, raw, path)
            if len(cache) >= _CACHE_MAX:
                cache = {}
                self._overlaid = cache
            cache[key] = found
        return found


def _read(path: str) -> bytes | None:
    """The file's bytes; None only where there surely is none. No link is followed, nothing is waited for."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:
        return _UNREADABLE
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return _UNREADABLE
    try:
        with os.fdopen(descriptor, "rb") as file:
            raw = file.read(_OVERLAY_MAX + 1)
    except OSError:
        return _UNREADABLE
    return raw if len(raw) <= _OVERLAY_MAX else _UNREADABLE
