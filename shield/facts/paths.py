"""The one path resolver: what a path means to the kernel at this moment, or that it cannot be known.

It walks as `path_resolution(7)` does: component by component, links followed where they stand, `..` applied after the
links before it. Wherever the kernel's answer would depend on something that cannot be examined, the answer is unknown.
"""

import unicodedata
from typing import NamedTuple

from shield.facts.categories import categorise, covered
from shield.facts.committed import is_committed, is_ignored
from shield.facts.filesystem import FileKind, FileSystem, FileSystemUnknownError, Stat
from shield.facts.guards import inside
from shield.facts.logins import SETTINGS, holds_login
from shield.facts.obeyed import Led, kept, names_beneath, names_of, obeyed
from shield.facts.place import Place
from shield.facts.snapshot import Snapshot
from shield.facts.table import at_top
from shield.facts.written import UnknownPathError, normal, start_of, suspected
from shield.types import Access, PathFact

__all__ = ["Resolved", "led_beneath", "path_fact", "resolve_path", "resolved_roots"]

_MAX_LINKS = 40  # MAXSYMLINKS, linux/namei.h; macOS follows 32
_MAX_STEPS = 8192
_MAX_SIBLINGS = 10_000
_CHANGING = frozenset((Access.WRITE, Access.DELETE))
_ROOTS = "workspace roots"

# Asked for at every component of every path: a member looked up in its class costs as much as a call.
_LINK, _DIRECTORY = FileKind.LINK, FileKind.DIRECTORY
_ORDINARY = frozenset(("environment", "executable", "source", "temp"))
# The shell's own streams: which way each may be opened without reopening some other file the other way round.
_STREAMS = {"/dev/stdin": Access.READ, "/dev/stdout": Access.WRITE, "/dev/stderr": Access.WRITE}
# macOS gives every file further names: by number (`/.vol/DEVICE/INODE`) and with lookup flags.
_DARWIN_ALIASES = frozenset({".vol", ".nofollow", ".resolve"})
_DARWIN_DATA = "/System/Volumes/Data"


class Resolved(NamedTuple):
    """Where a path leads. `path` is absolute with every link followed, None where that cannot be known.

    `stat` is of what stands there. `symlink`: one of the components that the path names is a link.
    `entry` is the place of the last component itself, before a link there is followed: what delete and rename act on.
    `lexical` is the path as it is written, made absolute: good for suspicion, never for permission.
    """

    path: str | None = None
    exists: bool = False
    symlink: bool = False
    stat: Stat | None = None
    entry: str | None = None
    lexical: str = "/"
    unknown: str | None = None


def resolve_path(raw: str, place: Place, *, base: str | None, expand_tilde: bool = True) -> Resolved:
    """Resolve `raw` against the absolute directory `base` (None: relative paths are unknown). Never raises.

    `~` is the place's home; `~user` is unknown. `file:` URIs (RFC 8089) are paths, percent decoded; elsewhere a
    percent sign is a percent sign.
    """
    files = place.files
    key = (raw, base, place.home if expand_tilde else None)
    if isinstance(files, Snapshot):
        known = files.resolved.get(key)
        if isinstance(known, Resolved):
            return known
    lexical = "/"
    try:
        lead, rest = start_of(raw, place, base, expand_tilde)
        lexical = normal(f"{lead}/{rest}")
        result = _walk(lead, rest, lexical, place)
    except UnknownPathError as error:
        result = Resolved(lexical=suspected(raw, place, lexical), unknown=str(error))
    except FileSystemUnknownError:
        result = Resolved(lexical=lexical, unknown="a directory on its way cannot be examined")
    except (OSError, ValueError):
        result = Resolved(lexical=lexical, unknown="the file system refuses this path")
    if isinstance(files, Snapshot):
        files.resolved[key] = result
        if result.path is not None and place.platform != "darwin":
            # INVARIANT: what a path leads to leads to itself: in one view of the disk no link is left on its way.
            itself = (result.path, None, None)
            if itself not in files.resolved:
                files.resolved[itself] = Resolved(
                    result.path, result.exists, False, result.stat, result.path, result.path
                )
    return result


def path_fact(
    raw: str,
    access: Access,
    place: Place,
    *,
    base: str | None,
    recursive: bool = False,
    source: str = "",
    expand_tilde: bool = True,
) -> PathFact:
    """The fact of one path that an action names. Never raises; what cannot be resolved has `resolved` None.

    `inside_workspace` holds only if everything that the access touches is inside: for delete also the link itself.
    """
    found = resolve_path(raw, place, base=base, expand_tilde=expand_tilde)
    path = found.path
    if path in _STREAMS and access is not _STREAMS[path]:
        path = None
    roots = resolved_roots(place)
    within = path is not None and inside(path, roots)
    names = [found.lexical]
    if found.entry is not None:
        names.append(found.entry)
        if access is Access.DELETE:
            within = within and inside(found.entry, roots)
    led: tuple[Led, ...] = ()
    if path is not None and within:
        led = _led(access, place, roots)
        names += names_of(path, led)
    categories = categorise(path, names, found.stat, place, inside_workspace=within)
    categories |= at_top(names if path is None else [path, *names], roots)
    if access is Access.READ and path is not None and path.rpartition("/")[2] in SETTINGS and holds_login(path, place):
        # whatever `git config` would make of it
        categories |= {"credential"} if "vcs_config" in categories else frozenset()
    # Of what has a meaning more than its content matters.
    plain = access is Access.DELETE and within and not found.symlink and categories <= _ORDINARY
    if plain and is_committed(path, found.stat, place, roots, recursive=recursive):
        categories |= {"committed"}
    elif plain and is_ignored(path, place, roots):
        categories |= {"ignored"}
    return PathFact(
        raw=raw,
        resolved=path,
        access=access,
        inside_workspace=within,
        exists=found.exists and path is not None,
        symlink=found.symlink,
        recursive=recursive,
        categories=categories,
        covers=_covers(found.lexical, path, access, place, roots, led) if recursive else frozenset(),
        source=source,
    )


def led_beneath(path: str, access: Access, place: Place) -> tuple[str, ...]:
    """What lies beneath the resolved `path` and has a meaning to `access` by another name than its own: where settings
    or links lead. Of what is not there yet, too."""
    return tuple(dict.fromkeys(real for real, _ in _led(access, place, resolved_roots(place)) if inside(real, (path,))))


def _led(access: Access, place: Place, roots: tuple[str, ...]) -> tuple[Led, ...]:
    if access is Access.LIST:
        return ()  # names alone tell no secret
    by = obeyed if access in _CHANGING else kept
    return by(place, roots, lambda name: resolve_path(name, place, base=None, expand_tilde=False).path)


def _covers(
    lexical: str, path: str | None, access: Access, place: Place, roots: tuple[str, ...], led: tuple[Led, ...]
) -> frozenset[str]:
    changed = () if access in (Access.READ, Access.LIST) else roots
    names = (lexical,) if path in (None, lexical) else (lexical, path)
    found = covered(names, place, changed, filled=access is Access.WRITE)
    beneath = names_beneath(path, led) if path is not None else []
    return found | categorise(None, beneath, None, place, inside_workspace=False) if beneath else found


def resolved_roots(place: Place) -> tuple[str, ...]:
    """The workspace roots with links followed. A root that cannot be resolved, and `/`, have nothing inside."""
    files = place.files
    key = (_ROOTS, place.workspace_roots)
    known = files.looked.get(key) if isinstance(files, Snapshot) else None
    if isinstance(known, tuple):
        return known
    roots = (resolve_path(root, place, base=None, expand_tilde=False).path for root in place.workspace_roots)
    found = tuple(root for root in roots if root is not None and root != "/")
    if isinstance(files, Snapshot):
        files.looked[key] = found
    return found


def _walk(lead: str, rest: str, lexical: str, place: Place) -> Resolved:
    files = place.files
    named = [name for name in rest.split("/") if name not in ("", ".")]
    # INVARIANT: the bottom `left` entries of `pending` are the path's own, what lies above them came out of links.
    start = _start(lead, place)
    pending = named[::-1] + ([name for name in lead.split("/") if name not in ("", ".")][::-1] if start is None else [])
    left = len(pending)
    as_directory = rest.endswith(("/", "/.")) or rest == "."
    at, stat, entry, symlink, missing = start or "", None, None, False, False
    links = steps = 0
    while pending:
        steps += 1
        if steps > _MAX_STEPS:
            raise UnknownPathError("it has too many components")
        if len(pending) == left:
            left -= 1
        name = pending.pop()
        if name == "..":
            if missing:
                raise UnknownPathError("it goes up from a directory that does not exist")
            at, stat = at.rpartition("/")[0], None
            continue
        parent, here = at, f"{at}/{name}"
        if missing:
            at = here
            continue
        stat = files.lstat(here)
        if stat is None:
            at, missing = here, True
        elif stat.kind is _LINK and not (here in _STREAMS and not pending):
            links += 1
            if links > _MAX_LINKS:
                raise UnknownPathError("its links lead in a circle")
            symlink = symlink or left < len(named)
            at, stat = _follow(here, parent, files, pending), None
        else:
            folds = files.folds(parent, files.lstat(parent or "/"), name, stat)
            at = f"{parent}/{_stored(parent, name, files)}" if folds else here
            if pending and stat.kind is not _DIRECTORY:
                raise UnknownPathError("it goes through something that is no directory")
        if left == 0 and entry is None and not as_directory:
            entry = here if stat is None else at
    path = at or "/"
    if place.platform == "darwin":
        path = _darwin(path)
    if missing:
        stat = None
    elif stat is None:
        stat = files.lstat(path)
    return Resolved(path, stat is not None, symlink, stat, entry or path, lexical)


def _start(lead: str, place: Place) -> str | None:
    """The directory `lead`, walked once for all paths of an action that start there; None where it must be walked."""
    if lead == "/" or not isinstance(place.files, Snapshot):
        return None
    known = resolve_path(lead, place, base=None, expand_tilde=False)
    if known.path is None or known.stat is None or known.stat.kind is not _DIRECTORY:
        return None
    return known.path.rstrip("/")


def _follow(here: str, parent: str, files: FileSystem, pending: list[str]) -> str:
    """Put a link's target before what is left; the directory that it starts from."""
    # Links in /proc, and those that lead there, mean something else to each process that follows them.
    if here.startswith("/proc/") or here == "/dev/fd" or here in _STREAMS:
        raise UnknownPathError("it means something else to each process")
    target = files.readlink(here)
    if not target or "\0" in target:
        raise UnknownPathError("a link on its way cannot be read")
    pending.extend(name for name in reversed(target.split("/")) if name not in ("", "."))
    return "" if target.startswith("/") else parent


def _stored(parent: str, name: str, files: FileSystem) -> str:
    """The name as the directory holds it, where the file system takes others for the same (case, Unicode forms)."""
    names = files.listdir(parent or "/", _MAX_SIBLINGS)
    if name in names:
        return name
    folded = _fold(name)
    same = [candidate for candidate in names if _fold(candidate) == folded]
    if len(same) != 1:
        raise UnknownPathError(f"no single name stands for it in `{parent or '/'}`")
    return same[0]


def _fold(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())


def _darwin(path: str) -> str:
    if path.split("/")[1] in _DARWIN_ALIASES:
        raise UnknownPathError("it names a file by number")
    # Firmlinks: the data volume's directories also stand at the root.
    if path.startswith(f"{_DARWIN_DATA}/"):
        return path.removeprefix(_DARWIN_DATA)
    return path
