"""Python's virtual environments, as `source DIR/bin/activate` enters them (PEP 405)."""

import posixpath

from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.programs.installs import environment_of

__all__ = ["entered"]


def entered(script: str, place: Place, base: str | None) -> str | None:
    """The directory of the environment whose activation script this is; None where it is none."""
    found = environment_of(script, place, base) if posixpath.basename(script) == "activate" else None
    try:
        return found if found is not None and place.files.lstat(f"{found}/pyvenv.cfg") is not None else None
    except FileSystemUnknownError:
        return None
