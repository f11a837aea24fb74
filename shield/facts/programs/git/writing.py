"""git: what changes the index, the files and the history, and what that does to them."""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.beneath import Look, look_beneath
from shield.facts.filesystem import FileSystemUnknownError
from shield.facts.paths import resolve_path
from shield.facts.programs.git.history import keeps_work
from shield.facts.programs.git.ignored import Ignored
from shield.facts.programs.git.names import holds_assumed, repository_here, tracked_names
from shield.facts.programs.git.pathspecs import excludes, fits, is_pattern
from shield.facts.programs.git.repository import may_start_in
from shield.facts.programs.invocation import Invocation, Special
from shield.facts.programs.model import Use
from shield.facts.programs.reading import Value
from shield.facts.programs.within import plain_files
from shield.facts.repositories import HEAD, Repository
from shield.types import Access, Operation, RunsCode

__all__ = ["GIT_WRITING"]


def _clean(call: Invocation) -> bool:
    """What git has no name of is deleted: the repository itself never, others inside it if that is said twice."""
    base, place = call.context.base, call.context.place
    forced = [option.name for option, _ in call.arguments.given if option.name in ("-f", "--force")]
    roots = tuple(call.operands) or (Value(text=".", head="."),)
    if base is None or call.reading.moved is not None or len(forced) > 1 or not all(root.fixed for root in roots):
        return False
    try:
        found = repository_here(place, base)
    except FileSystemUnknownError:
        return False
    names = None if found is None else tracked_names(found[0].index, found[1], place)
    if names is None:
        return False
    for root in roots:
        top = resolve_path(root.text, place, base=base, expand_tilde=False).path
        lead = "" if top == base else f"{top}/".removeprefix(f"{base}/")
        inner = tuple(name[len(lead) :] for name in names if name.startswith(lead))
        look = Look(without=(".git",), besides=inner, secrets=False)
        seen = top is not None and look_beneath(top, place, look).complete
        here = Value(text=root.text, roots=(root,), look=look) if seen else Value(text=root.text, known=False)
        call.reading.path(here, Access.DELETE, recursive=True)
    return True


def _revise(call: Invocation) -> bool:
    """merge, rebase, switch and kin: where git keeps all work, operands are revisions and nothing else."""
    return keeps_work(call) or _writes(call)


def _begins(call: Invocation) -> bool:
    """A new branch, which leaves the files alone unless it begins elsewhere."""
    return bool(call.operands) and keeps_work(call)


def _writes(call: Invocation) -> bool:
    moves = call.name.endswith(" mv") and len(call.operands) > 1 and plain_files(call, call.operands[:-1])
    call.reading.reshapes |= not moves and not call.name.endswith((" add", " commit", " stage", " update-index"))
    if call.name.endswith((" add", " stage")) and not call.arguments.has("-u", "--update", "-n", "--dry-run"):
        for base in may_start_in(call):
            _added(call, base)
    if call.name.endswith(" format-patch") and not call.arguments.has("-o", "--output-directory", "--stdout"):
        call.reading.path(Value(text=".", head="."), Access.WRITE)
    if call.name.endswith(" rm"):
        if _keeps_files(call):
            return True
        for word in call.operands:
            call.reading.path(word, Access.DELETE, recursive=call.arguments.has("-r"))
        if _takes_changes(call):
            call.reading.unknown.append("git may be told not to look whether these files have changed")
    if any(not value.fixed or "/" in value.text for value in call.arguments.values("--suffix")):
        call.reading.caution()
    signs = call.arguments.has("-S") and not call.name.endswith(" restore")  # there it is `--staged`
    if signs or call.arguments.has("-i", "-e", "--edit", "--interactive", "--gpg-sign"):
        call.reading.run(RunsCode.INLINE)
    if call.name.endswith(" commit") and not (
        call.arguments.has("-m", "--message", "-F", "--file", "--no-edit", "-C", "--dry-run") or _fixes_up(call)
    ):
        call.reading.run(RunsCode.INLINE)  # an editor
    if call.name.endswith(" commit") and call.arguments.has("-c", "--reedit-message"):
        call.reading.run(RunsCode.INLINE)
    return call.name.endswith((" checkout", " reset")) and _but_head(call)


def _but_head(call: Invocation) -> bool:
    """`HEAD` in front is what is checked out, and no file; the others are."""
    operands, words = call.operands, [word.text if word.fixed else "" for word in call.words]
    files = len(words) - 1 - words.index("--") if "--" in words else 0
    if files >= len(operands) or not operands[0].fixed or operands[0].text != HEAD:
        return False
    for word in operands[1:]:
        call.reading.use(Use.EDIT, word)
    return True


def _keeps_files(call: Invocation) -> bool:
    """Whether `git rm` takes the files from the index alone, or tells what it would take; takes it for such. Content
    that stands nowhere else it leaves in the index, unless it is told to do it all the same (git-rm(1), `-f`)."""
    tells = call.arguments.has("-n", "--dry-run")
    if not tells and (not call.arguments.has("--cached") or call.arguments.has("-f", "--force")):
        return False
    call.reading.operations.discard(Operation.DELETE)
    for word in call.operands:
        call.reading.path(word, Access.LIST, recursive=call.arguments.has("-r"))
    return True


def _takes_changes(call: Invocation) -> bool:
    """Whether `git rm` may delete a file that has changed: git looks, but not where the index says that it need not."""
    for base in may_start_in(call):
        try:
            found = repository_here(call.context.place, base)
        except FileSystemUnknownError:
            return True
        if found is None or holds_assumed(found[0].index, call.context.place):
            return True
    return False


def _added(call: Invocation, base: str) -> None:
    """Secrets that git would take in with a directory or by a pattern: those that it does not have and is not told to
    ignore, or takes in all the same (git-add(1), `-f`)."""
    place, arguments = call.context.place, call.arguments
    try:
        found = repository_here(place, base)
    except FileSystemUnknownError:
        found = None
    words = [word for word in call.operands if not (word.fixed and excludes(word.text))]
    if "--icase-pathspecs" in call.reading.flags:
        words = []
    whole = not words and (bool(call.operands) or arguments.has("-A", "--all"))
    if found is None and whole:
        call.reading.unknown.append("which directory git takes in as a whole is not known; name the files")
        return
    repository, within = found or (Repository(base, f"{base}/.git", f"{base}/.git"), "")
    top = repository.top
    # where that is not known, git has none of them
    names = () if found is None else tracked_names(repository.index, "", place) or ()
    ignored, forced = Ignored(repository, place), arguments.has("-f", "--force")
    passed_over = (".git",) if forced else (".git", *ignored.everywhere())
    for word in [Value(text=top, head=top)] if whole else words:
        pattern = word.text if word.fixed and is_pattern(word.text) else None
        folder = resolve_path(word.text if word.fixed else ".", place, base=base, expand_tilde=False).path
        folder = folder if pattern is None else top
        lead = "" if folder == top else f"{folder}/".removeprefix(f"{top}/")
        if found is None and (pattern is not None or folder is None or not f"{folder}/".startswith(f"{top}/")):
            call.reading.unknown.append("which repository this is, is not known; name the files")
            continue
        if folder is None or not f"{folder}/".startswith(f"{top}/"):
            continue
        inner = tuple(name[len(lead) :] for name in names if name.startswith(lead))
        for path in look_beneath(folder, place, Look(without=passed_over, besides=inner)).entries:
            name = path.removeprefix(f"{top}/")
            # `*` leaves out what begins with a dot.
            hidden = not word.fixed and word.pattern is not None and name[len(lead) :].startswith(".")
            fit = pattern is None or fits(pattern, name, within)
            if fit and not hidden and (forced or not ignored.holds(name)):
                call.reading.path(Value(text=path, head=path), Access.READ)


def _fixes_up(call: Invocation) -> bool:
    """Whether the message is made of another commit's, and nobody is asked for words of it."""
    given = call.arguments.values("--fixup")
    return bool(given) and all(value.fixed and not value.text.startswith(("amend:", "reword:")) for value in given)


GIT_WRITING: Mapping[str, Special] = MappingProxyType(
    {"revise": _revise, "begins": _begins, "clean": _clean, "writes": _writes}
)
