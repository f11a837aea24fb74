"""Whether a Python finds its own library: where it looks for modules, and what may stand there in their place."""

import sys

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.place import Place
from shield.facts.programs.python.allowed import SHADOWS

__all__ = ["is_module", "may_shadow", "runs_alone"]

_MAX_ENTRIES = 4_000
_IMPORTED = (".py", ".pyc", ".pyd", ".so", ".PY", ".PYC", ".SO")  # importlib.machinery.all_suffixes()
_HARMLESS_TEXT = """
PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONFAULTHANDLER PYTHONHASHSEED PYTHONUTF8 PYTHONIOENCODING
"""
_HARMLESS_VARIABLES = frozenset(_HARMLESS_TEXT.split())


def runs_alone(base: str | None, place: Place, *, isolated: bool) -> bool:
    """Whether a Python started in `base` finds its own library and nothing else: no variable steers it, and no entry
    of the directory, which it searches first, has the name of a module of it. `isolated`: it does not search there."""
    if any(name.startswith("PYTHON") and name not in _HARMLESS_VARIABLES for name in place.env):
        return False
    if isolated:
        return True
    if base is None:
        return False
    try:
        return not any(_shadows(name, base, place) for name in place.files.listdir(base, _MAX_ENTRIES))
    except FileSystemUnknownError:
        return False


def is_module(name: str) -> bool:
    """Whether a module of Python 3's library is called so, as code writes it: but for one, all are in small letters."""
    return name in sys.stdlib_module_names or (name == name.casefold() and may_shadow(name))


def may_shadow(name: str) -> bool:
    """Whether an entry of this name, where Python looks first, may stand in for a module of its library."""
    stem, dot, _ = name.partition(".")
    if dot and not name.endswith(_IMPORTED):
        return False
    # Every version has other inner modules (`_ast_unparse.py` from 3.14 on); packages among them are listed.
    inner = bool(dot) and stem.startswith("_") and not stem.startswith("__")
    # What `sysconfig` imports has a name by the platform.
    return inner or stem.startswith("_sysconfigdata_") or stem.casefold() in SHADOWS


def _shadows(name: str, base: str, place: Place) -> bool:
    if not may_shadow(name):
        return False
    path = f"{base.rstrip('/')}/{name}"
    stat = place.files.lstat(path)
    if stat is None or stat.kind is not FileKind.DIRECTORY:
        return True
    # A directory without `__init__` never comes before a module that is found later (PEP 420).
    return any(entry.startswith("__init__") for entry in place.files.listdir(path, _MAX_ENTRIES))
