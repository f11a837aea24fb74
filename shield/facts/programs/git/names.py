"""What git prints where it prints names of files and nothing else, all of them names that its index holds.

Of revisions the names are not known: they stand in packs, and whoever wrote them may have meant any path.
"""

import posixpath
from collections.abc import Callable, Mapping
from types import MappingProxyType

from shield.facts.beneath import Look
from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.paths import resolve_path
from shield.facts.place import Place
from shield.facts.programs.git.index import read_index
from shield.facts.programs.git.passive import settings
from shield.facts.programs.git.repository import git_dirs, on_its_own
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.reading import Listing, Value
from shield.facts.repositories import Repository
from shield.types import RunsCode

__all__ = ["holds_assumed", "listed_by_git", "repository_here", "tracked_names"]

_MAX_INDEX = 4_194_304
_MAX_NAMES = 20_000
_MAX_SETTINGS = 262_144
_MACHINE = ("/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig")

_LS_FILES_TEXT = "-z -c -m -d --cached --modified --deleted --deduplicate --error-unmatch --exclude-standard"
_LS_FILES = frozenset(_LS_FILES_TEXT.split())
_DIFF_TEXT = """
-z --name-only --cached --staged --diff-filter --no-renames --no-ext-diff --no-color --ignore-submodules
"""
_DIFF = frozenset(_DIFF_TEXT.split())
_GREP_TEXT = """
-l -L -z -i -w -a -I -E -F -G -P -v -e --files-with-matches --files-without-match --name-only --null --ignore-case
--word-regexp --text --extended-regexp --basic-regexp --fixed-strings --perl-regexp --invert-match --all-match --and
--or --not --cached --no-color --exclude-standard
"""
_GREP = frozenset(_GREP_TEXT.split())
_GREP_NAMES = frozenset(("-l", "-L", "--files-with-matches", "--files-without-match", "--name-only"))
# What is added, copied, changed, renamed or of another type stands in the index; what is deleted does not.
_THERE = frozenset("ACMRT")


def listed_by_git(call: Invocation) -> Listing | None:
    """What this `git ls-files`, `git diff --name-only` or `git grep -l` prints; None where that is not known."""
    reader = _READERS.get(call.name.rpartition(" ")[2])
    reading, base = call.reading, call.context.base
    if reader is None or base is None or reading.moved is not None or reading.runs is not RunsCode.NONE:
        return None
    flags = {option.name for option, _ in call.arguments.given}
    if "-c" in reading.flags and "-c" not in flags:
        return None  # a setting for this once, such as colours
    here = reader(call, flags)
    if here is None or reading.cautious or reading.loose or not on_its_own(reading.flags):
        return None
    try:
        found = repository_here(call.context.place, base)
        said = None if found is None else settings(call.context.place, found[0])
    except FileSystemUnknownError:
        return None
    if found is None or said is None or "always" in said.lower():
        return None  # names in colours are other names
    repository, within = found
    if not here and within and _may_be_relative(call.context.place, said):
        return None
    words = call.operands if call.name.endswith(" ls-files") else _behind_dashes(call)
    only = _patterns([word.text for word in words]) if here and "--icase-pathspecs" not in reading.flags else None
    nul = not {"-z", "--null"}.isdisjoint(reading.flags)
    roots = (Value(text=".", head="."),)
    chosen = () if only is None else (only,)
    within = within if here else ""
    return Listing(roots, Look(), nul=nul, bare=True, index_file=repository.index, within=within, only=chosen)


def _may_be_relative(place: Place, said: str) -> bool:
    """Whether `diff.relative` may be set, by the settings `said` of the repository, the user's own or the machine's: in
    a directory beneath the top other names are printed then."""
    above = place.env.get("XDG_CONFIG_HOME") or posixpath.join(place.home, ".config")
    texts = [said]
    for path in (posixpath.join(place.home, ".gitconfig"), posixpath.join(above, "git/config"), *_MACHINE):
        try:
            found = resolve_path(path, place, base=None, expand_tilde=False)
            content = place.files.read(found.path, _MAX_SETTINGS) if found.exists and found.path is not None else b""
        except FileSystemUnknownError:
            return True
        if content is None or found.path is None:
            return True
        texts.append(content.decode("utf-8", "replace"))
    # what is included may be anywhere, and under a condition
    return any("relative" in text.lower() or "include" in text.lower() for text in texts)


def _patterns(texts: list[str]) -> tuple[str, ...] | None:
    """Patterns that fit every name which git's own do (gitglossary(7), pathspec); None where they are all names."""
    found: list[str] = []
    for text in texts:
        path = posixpath.normpath(text)
        if path == "." or set(path) & set("[\\"):
            return None
        found += [path, f"{path}/*"]
    return tuple(found) or None


def repository_here(place: Place, base: str) -> tuple[Repository, str] | None:
    """The repository around the directory `base`, and what names in its index have in front of those that begin in
    `base`; None where that is not certain.

    Raises:
        FileSystemUnknownError: a directory on the way cannot be examined.
    """
    found = git_dirs(place, base)
    if found == ():
        # Without a repository git does nothing, as with one whose index is empty.
        inner = posixpath.join(base, ".git")
        return Repository(base, inner, inner), ""
    if found is None or len(found) != 1 or found[0].bare:
        return None
    top = found[0].top
    within = "" if base == top else base.removeprefix(top.rstrip("/") + "/") + "/"
    return found[0], within


def holds_assumed(index: str, place: Place) -> bool:
    """Whether git may be told of a file in the index not to look whether it has changed."""
    try:
        entry = place.files.lstat(index)
        found = None if entry is None else read_index(place.files.read(index, _MAX_INDEX) or b"")
    except FileSystemUnknownError:
        return True
    return entry is not None and (found is None or any(each.assumed for each in found.entries))


def tracked_names(index: str, within: str, place: Place) -> tuple[str, ...] | None:
    """The names in the file `index` that begin with `within`, without that; None where they are not known."""
    try:
        entry = place.files.lstat(index)
        content = b"" if entry is None else place.files.read(index, _MAX_INDEX)
    except FileSystemUnknownError:
        return None
    if content is None:
        return None
    if entry is None:
        return ()  # nothing was ever added
    found = read_index(content)
    if found is None or len(found.entries) > _MAX_NAMES:
        return None
    try:
        names = dict.fromkeys(each.name.decode() for each in found.entries)
    except UnicodeDecodeError:
        return None
    return tuple(name[len(within) :] for name in names if name.startswith(within))


def _ls_files(call: Invocation, flags: set[str]) -> bool | None:
    return True if flags <= _LS_FILES and all(_plain(word) for word in call.operands) else None


def _diff(call: Invocation, flags: set[str]) -> bool | None:
    """Of the index and the files; of a revision, too, where what it alone has is left out."""
    if "--name-only" not in flags or not flags <= _DIFF or len(call.operands) > 1:
        return None
    other = bool(call.operands) or not flags.isdisjoint(("--cached", "--staged"))
    filters = call.arguments.values("--diff-filter")
    there = bool(filters) and all(
        value.fixed and (value.text == "d" or (value.text != "" and _THERE.issuperset(value.text)))
        for value in filters[-1:]
    )
    if any(not _plain(word) or ".." in word.text for word in call.operands) or (other and not there):
        return None
    return False


def _grep(call: Invocation, flags: set[str]) -> bool | None:
    """Words before `--` may be revisions, whose files are printed by another name."""
    words = list(call.operands)
    if "-e" not in flags:
        words = words[1:]
    fits = flags <= _GREP and not flags.isdisjoint(_GREP_NAMES) and all(_plain(word) for word in words)
    return True if fits and words == _behind_dashes(call) else None


def _behind_dashes(call: Invocation) -> list[Value]:
    """The words behind a lone `--`."""
    places = [at for at, word in enumerate(call.words) if word.fixed and word.text == "--"]
    return list(call.words[places[0] + 1 :]) if len(places) == 1 else []


def _plain(word: Value) -> bool:
    """A pattern of names that begins where git stands: not one of another place, and none with a meaning of its own."""
    return word.fixed and not word.text.startswith(("/", ":", "-")) and ".." not in word.text.split("/")


# Whether the names begin where git stands; those of `diff` begin at the top of the repository.
_READERS: Mapping[str, Callable[[Invocation, set[str]], bool | None]] = MappingProxyType(
    {"ls-files": _ls_files, "diff": _diff, "grep": _grep}
)
