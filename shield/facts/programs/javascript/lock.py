"""npm's lock file: whether it names all that the project asks for (docs.npmjs.com, "package-lock.json")."""

import json
from collections.abc import Mapping
from typing import Any

from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.place import Place

__all__ = ["names_all"]

_MAX_BYTES = 1 << 20
_ASKED = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
# They ask for more than their own project's words, or for something else.
_WIDER = ("workspaces", "overrides", "bundleDependencies", "bundledDependencies")


def names_all(lock: str, package: str, place: Place) -> bool:
    """Whether the lock file at the resolved `lock` is of this very `package`. Then npm installs what stands there; that
    its entries hang together is npm's to check, as for `npm ci`. Never raises."""
    asks, held = _object(package, place), _object(lock, place)
    packages = held.get("packages")
    if not asks or not isinstance(packages, dict) or held.get("lockfileVersion") not in (2, 3):
        return False
    root = packages.get("")
    if not isinstance(root, dict) or any(key in asks for key in _WIDER):
        return False
    for key in _ASKED:
        asked = asks.get(key, {})
        if not isinstance(asked, dict) or asked != root.get(key, {}):
            return False
        if key != "peerDependencies" and not all(f"node_modules/{name}" in packages for name in asked):
            return False
    return True


def _object(path: str, place: Place) -> Mapping[str, Any]:
    try:
        found = json.loads(place.files.read(path, _MAX_BYTES) or b"")
    except (FileSystemUnknownError, OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
