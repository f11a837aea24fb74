"""Programs for single files and trees: copies, modes, sums, differences and names."""

import itertools
import posixpath
import re
import string
from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.beneath import Look
from shield.facts.categories import may_have_meaning
from shield.facts.filesystem import FileKind
from shield.facts.paths import resolve_path
from shield.facts.programs.emptied import add_emptied
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.listing import linked
from shield.facts.programs.mention import bases_of
from shield.facts.programs.model import Use
from shield.facts.programs.reading import PathUse, Value, plain_globs
from shield.facts.programs.within import clear_below, plain_files, plain_within
from shield.regex import regex
from shield.types import Access

__all__ = ["FILE_TOOLS"]


def _dd(call: Invocation) -> bool:
    for word in call.words:
        name, equals, tail = word.text.partition("=")
        value = Value(text=tail, head=tail) if word.fixed else Value(text=tail, known=False, head="")
        if name == "if" and equals:
            call.reading.path(value, Access.READ)
        elif name == "of" and equals:
            call.reading.path(value, Access.WRITE)
        elif not word.fixed:
            call.reading.loose = True
        elif name not in (
            "bs",
            "ibs",
            "obs",
            "cbs",
            "count",
            "skip",
            "seek",
            "iseek",
            "oseek",
            "conv",
            "status",
            "iflag",
            "oflag",
        ):
            call.reading.caution()
    return True


def _copy(call: Invocation) -> bool:
    """cp, mv, install, ln: all but the last are sources. A link opens its target's whole tree under another name."""
    reading, operands, arguments = call.reading, list(call.operands), call.arguments
    kind = call.name.rpartition("/")[2]
    if kind == "install" and arguments.has("-d", "--directory"):
        for operand in operands:
            reading.path(operand, Access.WRITE)
        return True
    if arguments.has("-S", "--suffix"):
        # What was there is kept under a name that ends in this: which one, may be a file with a meaning.
        reading.caution()
    given = arguments.values("-t", "--target-directory")
    lone = len(operands) == 1 and operands[0].fixed
    # A lone pattern may match several names, the last of which is then the target.
    last = None if given or not operands or lone else operands[-1] if len(operands) == 1 else operands.pop()
    links = kind in ("ln", "link") or arguments.has("-l", "-s", "--link", "--symbolic-link")
    exchanged = kind == "mv" and arguments.has("--exchange")
    for operand in operands:
        if kind == "mv":
            reading.use(Use.MOVE, operand)
        elif kind in ("ln", "link"):
            _linked(call, operand, given[-1] if given else last, several=bool(given) or len(operands) > 1)
        else:
            look = Look(follows=arguments.has("-L", "--dereference")) if call.recursive else None
            reading.path(operand, Access.READ, recursive=links or call.recursive, look=look)
            whole = _copied(call, operand).text.rstrip("/").endswith("/.")
            if kind == "cp" and whole and (links or not plain_within(call, operand)):
                reading.unknown.append(f"what lies in `{operand.text[:80]}` may have a meaning where it is put")
        if exchanged:
            reading.path(operand, Access.WRITE, recursive=True)
    if exchanged and last is not None:
        reading.use(Use.MOVE, last)
    if last is None and not given and kind in ("ln", "link"):
        last = Value(text=".", head=".")
    if last is not None:
        reading.path(last, Access.WRITE)
        if not last.fixed:
            reading.path(last, Access.READ)
    whole = arguments.has("-T", "--no-target-directory")
    for target in [*given, *([last] if last is not None else [])]:
        for operand in operands:
            # A source keeps its name below a target that is a directory, or takes the target's.
            reading.paths.append(
                PathUse(
                    value=target,
                    access=Access.WRITE,
                    # a link to a directory puts all that is in it under this name
                    recursive=call.recursive or links or kind == "mv",
                    moved=reading.moved,
                    below=_copied(call, operand) if kind == "cp" else operand,
                    whole=whole,
                    parents=kind == "cp" and arguments.has("--parents"),
                )
            )
            _over(call, operand, target, whole=whole)
    preserving = arguments.has("-d", "-P", "-p", "--no-dereference", "--preserve")
    moved = kind == "mv" and (exchanged or not plain_files(call, operands))
    reading.reshapes |= moved or kind in ("ln", "link") or links or call.recursive or preserving
    return True


def _over(call: Invocation, operand: Value, target: Value, *, whole: bool) -> None:
    """A tree that is copied over another one is written through the links that lie there; nothing leaves nothing."""
    if operand.fixed and operand.text == "/dev/null":
        if not target.fixed:
            call.reading.path(target, Access.DELETE)
        add_emptied(call.reading, [target], call.context.place, bases_of(call))
    if call.name.rpartition("/")[2] == "cp" and call.recursive and not clear_below(call, operand, target, whole=whole):
        call.reading.unknown.append(f"links in `{target.text[:80]}` lead what is copied there to other places")


def _rm(call: Invocation) -> bool:
    """rm: `-r` of a file deletes that file. Of a pattern a folder may match by then."""
    for operand in call.operands:
        tree = call.recursive and not plain_files(call, [operand])
        call.reading.path(operand, Access.DELETE, recursive=tree)
    return True


def _truncate(call: Invocation) -> bool:
    """truncate: only a size with `+` or `>` in front takes nothing away."""
    grows = [size.fixed and size.text.lstrip().startswith(("+", ">")) for size in call.arguments.values("-s", "--size")]
    cuts = not grows or not all(grows)
    for operand in call.operands:
        call.reading.path(operand, Access.WRITE, *((Access.DELETE,) if cuts and not operand.fixed else ()))
    if cuts:
        add_emptied(call.reading, call.operands, call.context.place, bases_of(call))
    return True


def _copied(call: Invocation, operand: Value) -> Value:
    """On a Mac `cp -R dir/` takes what is in the directory, as `dir/.` does everywhere (cp(1))."""
    if call.context.place.platform == "darwin" and call.recursive and operand.fixed and operand.text.endswith("/"):
        return operand._replace(text=f"{operand.text}.")
    return operand


def _linked(call: Invocation, operand: Value, name: Value | None, *, several: bool) -> None:
    """What a link leads to, read and written: a symbolic one is followed from the directory that it lies in (ln(1))."""
    reading, arguments = call.reading, call.arguments
    bases: list[Value | None] = [None]
    follows = arguments.has("-s", "--symbolic") and not arguments.has("-r", "--relative")
    if follows and name is not None and not operand.head.startswith("/"):
        above = name._replace(text=posixpath.dirname(name.text) or ".") if name.fixed else None
        inside = several or not name.fixed or _directory(call, name)
        bases = [name] if inside else []
        if not several and (not inside or not name.fixed or arguments.has("-n", "-h", "-T", "--no-dereference")):
            bases.append(above)
        bases = [None if each is not None and posixpath.normpath(each.text) == "." else each for each in bases]
    for base in bases:
        reading.moved = base
        for access in (Access.READ, Access.WRITE):
            reading.path(operand, access, recursive=True)
    reading.moved = None


def _directory(call: Invocation, name: Value) -> bool:
    """Whether one may lie there."""
    for base in call.context.bases:
        raw = name.text if name.text.startswith("/") else f"./{name.text}"
        found = resolve_path(raw, call.context.place, base=base, expand_tilde=False)
        if found.path is None or (found.stat is not None and found.stat.kind is FileKind.DIRECTORY):
            return True
    return False


def _mode(call: Invocation) -> bool:
    """chmod: a mode may begin with a dash (`-x`), which is no option."""
    modes = [flag for flag in call.arguments.foreign if re.fullmatch(r"-[rwxXst]+", flag)]
    if modes and len(modes) == len(call.arguments.foreign):
        for operand in call.operands:
            call.reading.path(operand, Access.WRITE, recursive=call.recursive)
        return True
    return False


def _diff(call: Invocation) -> bool:
    """diff: of two directories it shows what is in them, with `-r` all beneath; links met on the way down are followed
    (diffutils, 11 Comparing Directories)."""
    look = Look(
        follows=not call.arguments.has("--no-dereference"),
        without=plain_globs(call.arguments.values("-x", "--exclude")) or (),
    )
    for operand in [*call.operands, *call.arguments.values("--from-file", "--to-file")]:
        deep = call.recursive or not operand.fixed or _directory(call, operand)
        call.reading.path(operand, Access.READ, recursive=deep, look=look if deep else None)
    return True


def _sums(call: Invocation) -> bool:
    """md5sum and kin: `-c` reads the names of files, and tells whether they hold what is written there."""
    # Of a pattern that matches a name beginning with a dash, that may be this option.
    if call.arguments.has("-c", "--check") or any(word.adrift for word in call.words):
        for operand in call.operands or [Value(text="-", head="-")]:
            call.reading.use(Use.NAMES, operand)
        return True
    return False


def _file(call: Invocation) -> bool:
    """file: of what is no magic it shows the lines (`-m A:B`)."""
    for value in call.arguments.values("-m", "--magic-file"):
        for name in value.text.split(":") if value.fixed else ():
            call.reading.path(Value(text=name, head=name), Access.READ)
    if call.arguments.has("-C", "--compile"):
        call.reading.caution()
    return False


# Pieces that nobody takes for a file of another name, whatever letters come behind.
_PIECES = regex(r"(?:[A-Za-z0-9][A-Za-z0-9_.-]*[0-9_-]|x)?")
_LETTERS = (string.ascii_lowercase, string.digits + "abcdef")


def _split(call: Invocation) -> bool:
    """split: what it writes is called PREFIX, letters or digits, and a suffix: `.npmr` makes `.npmrc`."""
    arguments = call.arguments
    prefix = call.operands[1] if len(call.operands) > 1 else Value(text="x", head="x")
    suffixes = arguments.values("--additional-suffix") or [Value(text="")]
    lengths = arguments.values("-a", "--suffix-length")
    alone = len(call.operands) == 1 and call.operands[0].several
    if prefix.fixed and suffixes[-1].fixed and not alone:
        name, suffix = posixpath.basename(prefix.text), suffixes[-1].text
        first = f"{prefix.text}aa{suffix}"
        call.reading.path(Value(text=first, head=first), Access.WRITE)
        short = all(length.fixed and length.text in ("0", "1", "2") for length in lengths)
        if _PIECES.fullmatch(name) or (name[0].isalnum() and short and not _become_known(name, suffix, call)):
            return False
    call.reading.unknown.append("which names split gives to what it writes is not known")
    return False


def _become_known(name: str, suffix: str, call: Invocation) -> bool:
    pieces = (
        "".join(letters)
        for alphabet in _LETTERS
        for count in (1, 2)
        for letters in itertools.product(alphabet, repeat=count)
    )
    return any(may_have_meaning(f"{name}{piece}{suffix}", call.context.place) for piece in pieces)


# Where such a letter is not the last one of a word, tree goes on behind it, and takes a value from the words after.
_TREE_MIXED = regex(r"-(?!-)(?!\w*L\d+\Z)\w*[LPIHTo]\w")


def _shown(call: Invocation) -> bool:
    """ls, du and tree: with this option they go where links lead."""
    operands, arguments = list(call.operands), call.arguments
    name = call.name.rpartition("/")[2]
    if name == "tree":
        follows = arguments.has("-l")
        if any(word.fixed and _TREE_MIXED.match(word.text) for word in call.words):
            call.reading.caution()
    else:
        follows = call.recursive and arguments.has("-L", "--dereference")
    for operand in operands or [Value(text=".", head=".")]:
        call.reading.path(operand, Access.LIST, recursive=call.recursive, look=linked(follows=follows))
    return True


def _chart(call: Invocation) -> bool:
    """helm: links within a chart are followed, and what they lead to is a part of it (its `sympath.Walk`)."""
    charts = call.operands if call.name.endswith(" lint") else call.operands[-1:]
    for operand in charts or [Value(text=".", head=".")]:
        if "://" not in operand.text:
            call.reading.path(operand, Access.READ, recursive=True, look=Look(follows=True))
    return False


FILE_TOOLS: Mapping[str, Special] = MappingProxyType(
    {
        "chart": _chart,
        "dd": _dd,
        "copy": _copy,
        "mode": _mode,
        "diff": _diff,
        "rm": _rm,
        "sums": _sums,
        "file": _file,
        "shown": _shown,
        "split": _split,
        "truncate": _truncate,
    }
)
