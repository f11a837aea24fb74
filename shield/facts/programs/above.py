"""Files that a program looks for where it runs and in every directory above."""

import posixpath
from collections.abc import Collection

from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.guards import inside
from shield.facts.paths import resolved_roots
from shield.facts.place import Place

__all__ = ["stands_above"]


def stands_above(place: Place, base: str, names: Collection[str]) -> bool:
    """Whether one of these may be there. What lies in the user's home is their own."""
    own = "" if inside(place.home, resolved_roots(place)) else place.home
    folder = base
    while True:
        try:
            found = any(place.files.lstat(posixpath.join(folder, name)) is not None for name in names)
        except FileSystemUnknownError:
            found = True
        if found and folder != own:
            return True
        if folder == "/":
            return False
        folder = posixpath.dirname(folder)
