"""Archives that are taken apart: what tar and unzip write, where the archive was read."""

import posixpath
from collections.abc import Callable, Iterator, Sequence

from shield.facts.beneath import Look
from shield.facts.categories import has_meaning, leads_on, may_have_meaning
from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.compressed import Compression, expanded
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.members import Member, UnclearArchiveError
from shield.facts.programs.reading import PathUse, Value
from shield.facts.programs.tarballs import tar_members
from shield.facts.programs.zipballs import zip_members
from shield.facts.repositories import may_be_part
from shield.facts.snapshot import Snapshot
from shield.regex import regex
from shield.types import Access, Operation

__all__ = ["tar_is_read", "unzip_is_read"]

_MAX_PACKED = 16_777_216
_MAX_EXPANDED = 33_554_432
# Of all archives of one action: bytes that are read and made, and what each member costs, in bytes.
_MAX_WORK = 67_108_864
_A_MEMBER = 2_048
_MAX_NAMED = 200
_MAX_PARTS = 150_000  # of all names of an archive together: directories that are looked at
_STRIP = regex(r"[0-9]{1,2}")
# What changes neither which names are written nor what else is done. To leave some out is no more than that.
_TAR_TEXT = """
-x --extract --get -z --gzip --gunzip -j --bzip2 -J --xz -f --file -C --directory -v --verbose -p --preserve-permissions
--same-permissions -m --touch -k --keep-old-files --skip-old-files --keep-newer-files -o --no-same-owner
--no-same-permissions --numeric-owner --strip-components --exclude --wildcards --totals
"""
_TAR_OPTIONS = frozenset(_TAR_TEXT.split())
_FILTERS = (
    (Compression.GZIP, ("-z", "--gzip", "--gunzip")),
    (Compression.BZIP2, ("-j", "--bzip2")),
    (Compression.XZ, ("-J", "--xz")),
)
_UNZIP_OPTIONS = frozenset(("-d", "-j", "-n", "-o", "-q", "-qq", "-x"))
# They give options to tar and unzip, and to what tar unpacks with.
_STEERING = ("BZIP", "GZIP", "POSIXLY_CORRECT", "TAPE", "TAR_", "UNZIP", "XZ_", "ZIPINFO")


def tar_is_read(call: Invocation) -> bool:
    """Whether it unpacks an archive that was read: then the reading says what it writes.

    It looks for a file's own form, whatever the name; an option makes it expect one.
    """
    arguments = call.arguments
    archives, targets = arguments.values("-f", "--file"), arguments.values("-C", "--directory")
    strips = arguments.values("--strip-components")
    if not _plain(call, _TAR_OPTIONS) or len(archives) != 1 or len(targets) > 1 or len(strips) > 1:
        return False
    # Where it stands for some of what is named only, two directories are written to.
    if archives[0].text == "-" or ":" in archives[0].text or (targets and call.operands):
        return False
    if not all(value.fixed and _STRIP.fullmatch(value.text) for value in strips):
        return False
    forms = [form for form, names in _FILTERS if arguments.has(*names)]
    if len(forms) > 1:
        return False
    strip = int(strips[0].text) if strips else 0
    return _is_read(
        call,
        archives[0],
        targets[0] if targets else None,
        lambda content: _tar(content, forms),
        lambda member: member.places(strip),
    )


def unzip_is_read(call: Invocation) -> bool:
    """The same for unzip, which asks where a file is there already: a name for it may be the answer."""
    arguments = call.arguments
    targets = arguments.values("-d")
    answered = call.context.piped and not arguments.has("-o", "-n")
    if not _plain(call, _UNZIP_OPTIONS) or answered or not call.operands or len(targets) > 1:
        return False
    archive = call.operands[0]
    # It takes the name for a pattern.
    if archive.text.startswith("-") or set(archive.text) & set("*?[]\\"):
        return False
    junk = arguments.has("-j")
    return _is_read(
        call,
        archive,
        targets[0] if targets else None,
        lambda content: (zip_members(content), 0),
        lambda member: (
            member.places(0) if not junk else frozenset(() if member.directory else (posixpath.basename(member.name),))
        ),
    )


def _plain(call: Invocation, known: frozenset[str]) -> bool:
    """Whether nothing steers it but options of these, and words that are known."""
    context = call.context
    fixed = all(word.fixed for word in call.words) and context.base is not None and call.reading.moved is None
    steered = any(name.startswith(_STEERING) for name in context.place.env)
    return (
        fixed
        and not steered
        and known.issuperset(option.name for option, _ in call.arguments.given)
        and not (call.arguments.foreign)
    )


def _tar(content: bytes, forms: Sequence[Compression]) -> tuple[tuple[Member, ...], int]:
    """The members, and how many bytes were made to read them.

    Raises:
        UnclearArchiveError: as the readers of archives do; or it is not compressed as the options say.
    """
    form = Compression.of(content)
    if forms and form is not forms[0]:
        raise UnclearArchiveError
    if form is None:
        return tar_members(content), 0
    found = expanded(content, form, _MAX_EXPANDED)
    if found is None:
        raise UnclearArchiveError
    return tar_members(found), len(found)


def _is_read(
    call: Invocation,
    archive: Value,
    target: Value | None,
    read: Callable[[bytes], tuple[tuple[Member, ...], int]],
    places: Callable[[Member], frozenset[str]],
) -> bool:
    place, base = call.context.place, call.context.base
    path = _resolved(archive, place, base)
    top = _resolved(target, place, base) if target is not None else base
    try:
        members = _members(path, place, read) if path is not None else None
        if path is None or top is None or members is None:
            return False
        files = {name for member in members if not member.directory for name in places(member)}
        folders = {name for member in members if member.directory for name in places(member)} - files
        deep = sum(name.count("/") for name in (*files, *folders)) > _MAX_PARTS
        if deep or _meets_links(top, place, (*files, *folders)):
            return False
    except FileSystemUnknownError:
        return False
    inner = leads_on(top, place)
    meant = sorted(name for name in {*files, *folders} if _means(top, name, place, inner=inner))
    if len(meant) > _MAX_NAMED:
        return False
    _write(call, path, Value(text=top, head=top), tuple(sorted(files.difference(meant))))
    for name in meant:
        text = posixpath.join(top, name)
        call.reading.path(Value(text=text, head=text), Access.WRITE)
    return True


def _write(call: Invocation, archive: str, top: Value, files: tuple[str, ...]) -> None:
    """Those names beneath `top`, as the archive says."""
    reading = call.reading
    # INVARIANT: what is judged by its content is bound by it, and no other command of the line writes it
    value = Value(text=archive, head=archive)
    reading.paths += [PathUse(value=value, access=access) for access in (Access.READ, Access.EXECUTE)]
    reading.operations |= {Operation.READ, Operation.EXECUTE}
    tree = Value(text=top.text, head="/", bare="", roots=(top,), look=Look(names=files))
    reading.path(tree, Access.WRITE, recursive=True)


def _resolved(word: Value, place: Place, base: str | None) -> str | None:
    raw = word.text if word.text.startswith("/") else f"./{word.text}"
    return resolve_path(raw, place, base=base, expand_tilde=False).path


def _members(
    path: str, place: Place, read: Callable[[bytes], tuple[tuple[Member, ...], int]]
) -> tuple[Member, ...] | None:
    """What the archive at the resolved path holds; None where that is not clear.

    Raises:
        FileSystemUnknownError: it cannot be read.
    """
    files = place.files
    stat = files.lstat(path)
    if stat is None or stat.kind is not FileKind.FILE:
        return None
    spent = files.unpacked if isinstance(files, Snapshot) else 0
    content = files.read(path, _MAX_PACKED) if spent + stat.size <= _MAX_WORK else None
    if content is None:
        return None
    found: tuple[Member, ...] | None = None
    try:
        found, made = read(content)
        spent += len(content) + made + len(found) * _A_MEMBER
    except UnclearArchiveError:
        spent = _MAX_WORK  # the line is not understood by now: no more of it is looked at
    if isinstance(files, Snapshot):
        files.unpacked = spent
    return found


def _meets_links(top: str, place: Place, names: Sequence[str]) -> bool:
    """Whether a link stands where one of the names leads: some programs follow it, others put a file in its place.

    Raises:
        FileSystemUnknownError: that is not known.
    """
    there: dict[str, FileKind | None] = {top: _kind(top, place)}
    if there[top] not in (None, FileKind.DIRECTORY):
        return True
    for name in names:
        above = top
        for path in _ways(top, name):
            if there[above] is None:
                break
            if path not in there:
                there[path] = _kind(path, place)
            if there[path] not in (None, FileKind.FILE, FileKind.DIRECTORY):
                return True
            above = path
    return False


def _ways(top: str, name: str) -> Iterator[str]:
    path = top
    for part in name.split("/"):
        path = posixpath.join(path, part)
        yield path


def _kind(path: str, place: Place) -> FileKind | None:
    stat = place.files.lstat(path)
    return None if stat is None else stat.kind


def _means(top: str, name: str, place: Place, *, inner: bool) -> bool:
    """Whether the name may have a meaning where it is written, by itself or by a directory on its way."""
    if may_be_part(name) or any(may_have_meaning(part, place) for part in name.split("/")):
        return True
    return inner and has_meaning(posixpath.join(top, name), place)
