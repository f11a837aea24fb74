"""Programs that print names of files, one after the other, for `xargs`: which names these can be.

`xargs` splits at blanks and takes quotes and backslashes away, so a list with a newline after each name stands for the
files themselves only where no name in the tree holds any of these (xargs(1)). Names that nothing stands in front of may
be read as options, assignments, addresses or response files by the program that gets them.
"""

import posixpath
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from shield.facts.beneath import Look, holds_name
from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.git.names import tracked_names
from shield.facts.programs.reading import Listing, Value
from shield.regex import regex
from shield.types import CommandFact, Dynamic, Origin, RunsCode

__all__ = [
    "filtered",
    "handed_on",
    "linked",
    "printed_by_fd",
    "printed_by_find",
    "printed_by_grep",
    "printed_by_walk",
    "split_up",
    "taken_apart",
]

_ODD = frozenset(" \t\n\v\f\r'\"\\")
_GLOB = frozenset("*?[(")  # the last for `shopt -s extglob`
# What may begin a name that stands for itself wherever it is read, and what else may not be in it.
_TAME = regex(r"[A-Za-z0-9_.][^:=]*\Z")
_MAX_TOP = 10_000
# What find may be told besides, so that it prints the names that it found and nothing else.
_FIND_TESTS_TEXT = """
-P -amin -anewer -atime -cmin -cnewer -ctime -daystart -depth -empty -executable -false -group -iname -inum -ipath
-iregex -links -maxdepth -mindepth -mmin -mount -mtime -name -newer -nogroup -not -nouser -path -perm -print -print0
-prune -readable -regex -regextype -samefile -size -true -type -uid -user -wholename -iwholename -writable -xdev -gid
-a -and -o -or ! ( )
"""
_FIND_TESTS = frozenset(_FIND_TESTS_TEXT.split())
# What fd may be told besides.
_FD_TESTS_TEXT = """
-H -I -u -s -i -g -F -L -p -0 -1 -d -t -e -E -S -j -x -X --hidden --no-ignore --no-ignore-vcs --no-ignore-parent
--unrestricted --case-sensitive --ignore-case --glob --regex --fixed-strings --follow --full-path --print0 --prune
--one-file-system --xdev --max-depth --min-depth --exact-depth --type --extension --exclude --size --changed-within
--changed-before --threads --max-results --exec --exec-batch
"""
_FD_TESTS = frozenset(_FD_TESTS_TEXT.split())
_FILTERS = {
    "grep": frozenset(("-v", "-i", "-E", "-F", "-w", "-x", "-z", "-iv", "-vi", "-vE", "-Ev", "-iE", "-vF", "-Fv")),
    "head": frozenset(("-z",)),
    "tail": frozenset(("-z",)),
    "sort": frozenset(("-u", "-r", "-n", "-V", "-f", "-z", "-zu", "-uz", "-ru", "-zr")),
    "uniq": frozenset(("-u", "-d", "-i", "-z")),
}


def linked(*, follows: bool) -> Look | None:
    """How a tree is looked through by a program that shows names: where it follows links, it leaves the tree."""
    return Look(follows=True, shown=True) if follows else None


def printed_by_find(words: Sequence[Value], roots: Sequence[Value], listing: Listing) -> Listing | None:
    """What a find(1) prints that was told `words`; `listing` says of which entries."""
    flags = [word.text for word in words if word.fixed and (word.text.startswith("-") or word.text in ("!", "(", ")"))]
    printing = [flag for flag in flags if flag in ("-print", "-print0")]
    known = all(word.fixed for word in words) and set(flags) <= _FIND_TESTS and len(printing) <= 1
    if not known or not _plain_roots(roots):
        return None
    return listing._replace(nul=printing == ["-print0"])


def printed_by_grep(flags: Sequence[str], roots: Sequence[Value], listing: Listing) -> Listing | None:
    """What grep or rg prints that is told to name files only."""
    names = {"-l", "-L", "--files-with-matches", "--files-without-match"}
    others = {"-c", "--count", "--json", "--heading", "-p", "--pretty", "--color", "--colour", "--stats"}
    others |= {"--path-separator", "--hyperlink-format", "--null-data"}
    if not names & set(flags) or others & set(flags) or not _plain_roots(roots):
        return None
    return _from_here(listing._replace(nul=not {"-Z", "-0", "--null"}.isdisjoint(flags)))


def printed_by_walk(flags: Sequence[str], roots: Sequence[Value], listing: Listing) -> Listing | None:
    """What `rg --files` prints."""
    known = {"--files", "-g", "--glob", "--iglob", "-t", "--type", "-T", "--type-not", "--hidden", "-.", "-u", "-uu"}
    known |= {"--no-ignore", "--sort", "-0", "--null", "--max-depth", "-d"}
    if not known.issuperset(flags) or not _plain_roots(roots):
        return None
    return _from_here(listing._replace(nul=not {"-0", "--null"}.isdisjoint(flags)))


def printed_by_fd(flags: Sequence[str], roots: Sequence[Value], listing: Listing) -> Listing | None:
    """What fd(1) prints, or hands to a command of its own."""
    if not _FD_TESTS.issuperset(flags) or not _plain_roots(roots):
        return None
    return _from_here(listing._replace(nul=not {"-0", "--print0"}.isdisjoint(flags)))


def _from_here(listing: Listing) -> Listing:
    """Without a place to begin, the names in the working directory are printed as they stand there."""
    return listing if listing.roots else listing._replace(roots=(Value(text=".", head="."),), bare=True)


def _plain_roots(roots: Sequence[Value]) -> bool:
    return all(root.fixed and not root.text.startswith("-") and not set(root.text) & _ODD for root in roots)


def filtered(listing: Listing, command: CommandFact) -> Listing | None:
    """What is left of the names behind a program that only leaves some of them out, or sorts them."""
    words = command.argv[1:]
    options = [word for word in words if word.startswith("-")]
    operands = len(words) - len(options)
    allowed = _FILTERS.get(command.name)
    known = command.origin in (Origin.SYSTEM, Origin.USER) and command.runs_code is RunsCode.NONE
    plain = known and not command.assignments and not command.redirects
    if allowed is None or not plain or ("z" in "".join(options)) is not listing.nul:
        return None
    if command.name in ("head", "tail"):
        return listing if _uncounted(words) <= allowed else None
    if operands != (1 if command.name == "grep" else 0) or not set(options) <= allowed:
        return None
    return _chosen(listing, words) if command.name == "grep" else listing


def handed_on(
    listing: Listing, commands: Sequence[CommandFact], place: Place, bases: Sequence[str | None]
) -> Listing | None:
    """What is left of the names that `xargs` gives to a grep that prints those of some of the files and nothing else.

    `commands`: xargs, and all that it starts. Where it is fed nothing, grep may be started without a name, and calls
    its input one (`-L`): then xargs has to know of `-r`, or no file may have that name.
    """
    known = all(each.origin in (Origin.SYSTEM, Origin.USER) and each.runs_code is RunsCode.NONE for each in commands)
    if not known or any(each.assignments or each.redirects for each in commands):
        return None
    if commands[0].dynamic is not Dynamic.NONE:
        return None
    starts, *started = (each.name for each in commands)
    if starts != "xargs" or set(started) != {"grep"}:
        return None
    words = list(commands[0].argv[1:])
    limits: set[str] = set()
    while words and words[0] in _XARGS:
        limits.add(words.pop(0))
    if not words or words.pop(0) != "grep":
        return None
    options = [word for word in words if word.startswith("-")]
    letters = "".join(options)
    if not set("lL") & set(letters) or not all(map(_GREP.fullmatch, options)) or len(words) != len(options) + 1:
        return None
    if "L" in letters and not limits & {"-r", "--no-run-if-empty", "-0r", "-r0"}:
        found = [resolve_path(f"./{_INPUT}", place, base=base, expand_tilde=False) for base in bases]
        if any(each.path is None or each.exists or each.symlink for each in found):
            return None
    nul = bool(limits & {"-0", "--null", "-0r", "-r0"})
    # Names that xargs has taken apart at other places are told from others no more behind a NUL.
    if nul is not listing.nul or ("Z" in letters and not nul):
        return None
    return listing._replace(nul="Z" in letters)


def _uncounted(words: Sequence[str]) -> set[str]:
    """The words of head or tail that say no number of lines; a number that no `-n` stands before is a file."""
    rest: set[str] = set()
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "-n" and waiting and _SIGNED.fullmatch(waiting[0]):
            waiting.pop(0)
        elif not (word[:1] == "-" and _SIGNED.fullmatch(word.removeprefix("-n") if word[:2] == "-n" else word[1:])):
            rest.add(word)
    return rest


# Of xargs what leaves all names to commands of their own, and of grep what says which lines it looks for.
_XARGS = frozenset(("-0", "-r", "-0r", "-r0", "--null", "--no-run-if-empty"))
_GREP = regex("-[iEFPwxslLZ]+")
_INPUT = "(standard input)"
_SIGNED = regex(r"[-+]?[0-9]+")
_ENDING = regex(r"\\\.(?:([A-Za-z0-9]+)|\(([A-Za-z0-9]+(?:\|[A-Za-z0-9]+)*)\))\$")


def _chosen(listing: Listing, words: Sequence[str]) -> Listing:
    """What grep leaves that is told which endings names have; all, where it is told anything else."""
    options = [word for word in words if word.startswith("-")]
    found = next((_ENDING.fullmatch(word) for word in words if not word.startswith("-")), None)
    if found is None or not set(options) <= {"-E", "-z"} or (found[2] is not None and "-E" not in options):
        return listing
    endings = tuple(f"*.{ending}" for ending in (found[1] or found[2]).split("|"))
    if listing.index_file is not None:
        return listing._replace(only=(*listing.only, endings))
    look = listing.look
    return listing if look.follows or look.only else listing._replace(look=replace(look, only=endings))


def split_up(listing: Listing, place: Place, bases: Sequence[str | None]) -> Value | None:
    """A word that `$(…)` becomes without quotes; None where one may be more, or stand for other names."""
    tops = () if listing.index_file is not None else listing.roots
    for base in bases:
        for root in tops:
            top = resolve_path(root.text, place, base=base, expand_tilde=False).path
            if top is None or set(root.text) & _GLOB or holds_name(top, place, _is_glob):
                return None
    return taken_apart(listing, place, bases, nul=False, without=_GLOB)


def taken_apart(
    listing: Listing, place: Place, bases: Sequence[str | None], *, nul: bool, without: frozenset[str] = frozenset()
) -> Value | None:
    """A word of the command that xargs starts with these names; None where it may get other words than these.
    `without`: what no name of an index may hold besides."""
    if listing.nul is not nul:
        return None
    if listing.index_file is not None:
        names = tracked_names(listing.index_file, listing.within, place)
        if names is None or not all(_TAME.match(name) and (nul or _unquoted(name)) for name in names):
            return None
        if any(without & set(name) for name in names):
            return None
        for patterns in listing.only:
            names = tuple(name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns))
        return listing._replace(look=replace(listing.look, names=names)).value
    matches = _is_unruly if listing.bare else _is_odd
    for base in bases:
        for root in () if nul and not listing.bare else listing.roots:
            top = resolve_path(root.text, place, base=base, expand_tilde=False).path
            if top is None or holds_name(top, place, matches) or (listing.bare and not _tame_top(top, place)):
                return None
    return listing.value


def _is_glob(path: str) -> bool:
    return bool(_GLOB & set(posixpath.basename(path)))


def _is_odd(path: str) -> bool:
    return bool(_ODD & set(posixpath.basename(path)))


def _is_unruly(path: str) -> bool:
    return bool((_ODD | set(":=")) & set(posixpath.basename(path)))


def _tame_top(top: str, place: Place) -> bool:
    """Whether nothing in the directory itself has a name that a program may take for something else."""
    try:
        return all(_TAME.match(name) for name in place.files.listdir(top, _MAX_TOP))
    except FileSystemUnknownError:
        return False


def _unquoted(name: str) -> bool:
    """Whether git prints the name as it is, and xargs takes it for one (git-config(1), `core.quotePath`)."""
    return name.isascii() and name.isprintable() and not _ODD & set(name)
