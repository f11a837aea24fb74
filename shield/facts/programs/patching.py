"""Programs that change files as a patch says: patch, and git apply."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from shield.facts.filesystem import FileKind, FileSystemUnknownError
from shield.facts.paths import resolve_path
from shield.facts.programs.git.repository import git_dirs
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.patches import Change, read_patch
from shield.facts.programs.reading import PathUse, Value
from shield.regex import regex
from shield.types import Access, Operation

__all__ = ["PATCHING"]

_MAX_PATCH = 1_048_576
_STRIP = regex(r"[0-9]{1,2}")
# What changes neither where they write nor how the patch is read.
_PATCH_TEXT = """
-p --strip -i --input -d --directory -N --forward -R --reverse -s --silent --quiet --dry-run -u --unified -f --force
-F --fuzz -l --ignore-whitespace -t --batch -E --remove-empty-files --verbose --no-backup-if-mismatch
"""
_PATCH_OPTIONS = frozenset(_PATCH_TEXT.split())
_APPLY_TEXT = """
-p --index --cached --apply -3 --3way --reject -R --reverse -v --verbose -q --quiet --whitespace -C --allow-empty
--ignore-space-change --ignore-whitespace -N --intent-to-add --include --exclude --no-add
"""
_APPLY_OPTIONS = frozenset(_APPLY_TEXT.split())
# They take files from version control, or name those that are kept.
_STEERING = ("PATCH_", "POSIXLY_CORRECT", "SIMPLE_BACKUP_SUFFIX", "VERSION_CONTROL")
_KEPT = (".orig", ".rej")


def _patch(call: Invocation) -> bool:
    """patch: the files that its patch names, by the option or on standard input, and what it keeps beside them."""
    arguments = call.arguments
    inputs = arguments.values("-i", "--input")
    steered = any(name.startswith(_STEERING) for name in call.context.place.env)
    if call.operands or steered or len(inputs) > 1 or not _only(call, _PATCH_OPTIONS):
        return _asked(call)
    changes = _named(call, inputs[0]) if inputs and inputs[0].text != "-" else _standard_input(call)
    if changes is None:
        return _asked(call)
    goes = arguments.has("-R", "--reverse", "-t", "--batch", "-E", "--remove-empty-files")
    _change(call, changes, _KEPT, goes=goes, dry=arguments.has("--dry-run"))
    return True


def _apply(call: Invocation) -> bool:
    """git apply: names are from the top of the repository, or from here (git-apply(1))."""
    arguments, reading = call.arguments, call.reading
    reading.reshapes = True
    if not _only(call, _APPLY_OPTIONS) or not _at_the_top(call):
        return _asked(call)
    changes: list[Change] = []
    for word in call.operands or [Value(text="-", head="-")]:
        found = _standard_input(call) if word.fixed and word.text == "-" else _named(call, word)
        if found is None:
            return _asked(call)
        changes += found
    reading.reshapes = False
    kept = (".rej",) if arguments.has("--reject") else ()
    _change(call, changes, kept, goes=arguments.has("-R", "--reverse"))
    return True


def _only(call: Invocation, known: frozenset[str]) -> bool:
    """Whether it has no options but these, and says at most once how many parts of a name are taken off."""
    strips = call.arguments.values("-p", "--strip")
    plain = all(value.fixed and _STRIP.fullmatch(value.text) for value in strips)
    return plain and len(strips) < 2 and known.issuperset(option.name for option, _ in call.arguments.given)


def _at_the_top(call: Invocation) -> bool:
    """Whether the shell stands at the top of the one repository there is; outside of any, a patch may name any file."""
    base = call.context.base
    if base is None or call.reading.moved is not None:
        return False
    try:
        found = git_dirs(call.context.place, base)
    except FileSystemUnknownError:
        return False
    return found is not None and len(found) == 1 and found[0].top == base and not found[0].bare


def _named(call: Invocation, word: Value) -> tuple[Change, ...] | None:
    base = call.context.base
    if not word.fixed or base is None or call.reading.moved is not None:
        return None
    raw = word.text if word.text.startswith("/") else f"./{word.text}"
    path = resolve_path(raw, call.context.place, base=base, expand_tilde=False).path
    return _held(call, path) if path is not None else None


def _standard_input(call: Invocation) -> tuple[Change, ...] | None:
    context = call.context
    if context.opened is not None:
        return _held(call, context.opened)
    if context.stdin is not None and context.whole and not context.fetched and len(context.stdin) <= _MAX_PATCH:
        call.reading.operations.add(Operation.EXECUTE)
        return read_patch(context.stdin)
    return None


def _held(call: Invocation, path: str) -> tuple[Change, ...] | None:
    """What the patch in the file at the resolved path changes."""
    files = call.context.place.files
    try:
        stat = files.lstat(path)
        content = files.read(path, _MAX_PATCH) if stat is not None and stat.kind is FileKind.FILE else None
        found = read_patch(content.decode("utf-8")) if content is not None else None
    except (FileSystemUnknownError, UnicodeDecodeError):
        return None
    if found is not None:
        # INVARIANT: what is judged by its content is bound by it, and no earlier command of the line writes it
        value = Value(text=path, head=path)
        call.reading.paths += [PathUse(value=value, access=access) for access in (Access.READ, Access.EXECUTE)]
        call.reading.operations.add(Operation.EXECUTE)
    return found


def _change(
    call: Invocation, changes: Sequence[Change], kept: tuple[str, ...], *, goes: bool, dry: bool = False
) -> None:
    """The files that are written and deleted, or only looked at (`dry`). `goes`: any of them may be deleted."""
    reading = call.reading
    reading.operations -= {Operation.WRITE, Operation.DELETE}
    # Where it is not told how many parts to take off, git guesses it, and patch takes the last one.
    strips = call.arguments.values("-p", "--strip")
    for access, name in _touched(changes, int(strips[0].text) if strips else None, kept, goes=goes):
        value = Value(text=name if name.startswith("/") else f"./{name}", head=name)
        reading.path(value, Access.READ if dry else access)


def _touched(
    changes: Sequence[Change], strip: int | None, kept: tuple[str, ...], *, goes: bool
) -> Iterator[tuple[Access, str]]:
    for change in changes:
        for name in sorted(change.places(strip)):
            yield from ((Access.WRITE, name + end) for end in ("", *kept))
            if change.goes or goes:
                yield Access.DELETE, name


def _asked(call: Invocation) -> bool:
    call.reading.unknown.append("which files the patch names is not known")
    return False


PATCHING: Mapping[str, Special] = MappingProxyType({"patch": _patch, "apply": _apply})
