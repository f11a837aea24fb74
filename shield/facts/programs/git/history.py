"""git commands that bring other files into the work tree and keep what is there: merge, rebase, switch, stash and kin.

Of these git itself sees to it that nothing uncommitted is overwritten: it refuses (git-merge(1), git-checkout(1)), and
what a branch stood for before stays in the reflog. It does not see to files that it is told to ignore: where the other
side tracks one of that name, it takes its place. What comes in may be another person's, and hooks, filters, merge
drivers and lines of a rebase's list may run; so such a command counts as running what was fetched, and changes nothing
but by it. Whatever may lose work keeps its facts: it deletes.
"""

from collections.abc import Mapping
from types import MappingProxyType

from shield.facts.paths import resolve_path
from shield.facts.programs.git.repository import on_its_own
from shield.facts.programs.invocation import Invocation
from shield.facts.programs.reading import Reading, Value
from shield.regex import regex
from shield.types import Operation, RunsCode

__all__ = ["brings_in", "keeps_work", "pulls", "searches", "stash"]

# A revision by name, a range of them, or `-`: the one that was left last.
_REVISION = regex(r"-|[A-Za-z0-9_@][A-Za-z0-9_./@{}~^-]*")
_REMOTE = regex(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_BRANCH = regex(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
_PATH = regex(r"[A-Za-z0-9_.][A-Za-z0-9_./-]*")
_STASHED = regex(r"(?:stash@\{\d+\}|\d+)")
# `--abort` and `--skip` go back to how it was before: what was solved by hand since then is gone, and so is what was
# changed beside it.
_STEPS_TEXT = "--continue --quit"
_QUIET_TEXT = "-q --quiet --progress --no-progress"
_SWITCHING_TEXT = f"{_QUIET_TEXT} --guess --no-guess --detach -d -t --track --no-track --no-overwrite-ignore"
_FLAGS_TEXT = {
    "checkout": f"{_SWITCHING_TEXT} -b",
    "switch": f"{_SWITCHING_TEXT} -c --create",
    "merge": f"""
    {_QUIET_TEXT} {_STEPS_TEXT} -n --stat --no-stat --summary --no-summary --squash --no-squash --commit --no-commit -v
    --verbose --no-edit --ff --no-ff --ff-only --rerere-autoupdate --no-verify-signatures --allow-unrelated-histories
    --autostash --no-autostash --no-overwrite-ignore --signoff --no-signoff --no-gpg-sign --cleanup -s --strategy -X
    --strategy-option -m --message --into-name -F --file --log
    """,
    "rebase": f"""
    {_QUIET_TEXT} {_STEPS_TEXT} --keep-base -v --verbose -n --no-stat --stat --signoff --committer-date-is-author-date
    --reset-author-date --ignore-date --ignore-whitespace -f --force-rebase --no-ff --show-current-patch --apply -m
    --merge --rerere-autoupdate --no-autosquash --no-update-refs --autostash --no-autostash --fork-point
    --no-fork-point --root --reapply-cherry-picks --no-gpg-sign --no-rebase-merges --onto --empty -s --strategy -X
    --strategy-option -r --rebase-merges
    """,
    "cherry-pick": f"""
    {_STEPS_TEXT} -n --no-commit --no-edit -s --signoff --rerere-autoupdate --ff --allow-empty --allow-empty-message
    --keep-redundant-commits --reference --no-gpg-sign -x --cleanup -m --mainline --strategy -X --strategy-option
    --empty
    """,
    "am": f"{_STEPS_TEXT} -q --quiet -r --resolved",
}
_FLAGS_TEXT["revert"] = _FLAGS_TEXT["cherry-pick"]
_FLAGS: Mapping[str, frozenset[str]] = MappingProxyType(
    {verb: frozenset(text.split()) for verb, text in _FLAGS_TEXT.items()}
)
_STEPS = frozenset((*_STEPS_TEXT.split(), "-r", "--resolved"))
# git starts any other as a program, `git-merge-NAME`.
_STRATEGIES = frozenset(("ort", "recursive", "resolve", "octopus", "ours", "subtree"))
_STASHING = frozenset(
    ("-q", "--quiet", "-u", "--include-untracked", "-k", "--keep-index", "--no-keep-index", "-S", "--staged")
)
_PULLING_TEXT = """
-q -v --quiet --verbose --rebase --no-rebase --ff-only --ff --no-ff --no-edit --no-commit --autostash --prune -p --tags
--no-tags --stat --no-stat --progress --no-progress --unshallow --depth --no-recurse-submodules --ipv4 --ipv6 -4 -6
"""
_PULLING = frozenset(_PULLING_TEXT.split())


def keeps_work(call: Invocation) -> bool:
    """Whether this command is one of them, and told nothing under which work could be lost; takes it for such."""
    verb = call.name.rpartition(" ")[2]
    given = {option.name for option, _ in call.arguments.given}
    if not _known_strategy(call):
        call.reading.run(RunsCode.INLINE)
    if not given <= _FLAGS[verb] or not _ours(call):
        return False
    words = call.operands
    if verb in ("checkout", "switch"):
        fits = len(words) == 1 and words[0].fixed and _is_revision(words[0])
        fits = fits and (verb == "switch" or not _names_file(call, words[0].text))
        fits = fits and not any(word.fixed and word.text == "--" for word in call.words)  # what follows it are files
    elif verb == "am":
        fits = not words and bool(given & _STEPS)
    else:
        fits = all((word.fixed and _is_revision(word)) or _is_unknown_revision(word) for word in words)
    if fits:
        _fetched(call.reading)
    return fits


def brings_in(call: Invocation, words: list[Value]) -> bool:
    """Whether `words`, which say what is put into a new working tree, are revisions; takes it for such."""
    fits = all(word.fixed and _is_revision(word) for word in words) and _ours(call)
    if fits:
        _fetched(call.reading)
    return fits


def stash(call: Invocation) -> bool:
    """Whether this puts changes aside or takes them back, which is all that git does; takes it for such."""
    words = list(call.words)
    if not all(word.fixed for word in words) or not _ours(call):
        return False
    verb = words.pop(0).text if words and not words[0].text.startswith("-") else "push"
    fits = False
    if verb in ("pop", "apply"):
        rest = [word.text for word in words if word.text not in ("-q", "--quiet", "--index")]
        fits = len(rest) <= 1 and all(_STASHED.fullmatch(text) for text in rest)
    elif verb == "push":
        fits = _pushes([word.text for word in words])
    if fits:
        _fetched(call.reading)
    return fits


def _pushes(words: list[str]) -> bool:
    while words:
        word = words.pop(0)
        if word in ("-m", "--message"):
            words[:1] = []
        elif word == "--":
            return all(not text.startswith((":", "/", "~")) and ".." not in text.split("/") for text in words)
        elif word not in _STASHING and not word.startswith("--message="):
            return False
    return True


def searches(call: Invocation) -> bool:
    """Whether this is a step of a bisection that only switches to another revision; takes it for such."""
    words = list(call.words)
    if not words or not all(word.fixed for word in words) or not _ours(call):
        return False
    step, rest = words[0].text, words[1:]
    fits = step in ("start", "good", "bad", "old", "new", "skip", "reset", "log")
    if step == "start":
        # Neither changes more than the steps do: with the first nothing is checked out at all.
        rest = [word for word in rest if word.text not in ("--no-checkout", "--first-parent")]
        rest = _without_paths(rest)
    fits = fits and all(_is_revision(word) and word.text != "-" for word in rest)
    if fits:
        _fetched(call.reading)
    return fits


def _without_paths(words: list[Value]) -> list[Value]:
    """The words in front of `--`, behind which names say which commits count; all if one of those is no plain name."""
    at = next((index for index, word in enumerate(words) if word.text == "--"), len(words))
    plain = all(_PATH.fullmatch(word.text) and ".." not in word.text.split("/") for word in words[at + 1 :])
    return words[:at] if plain else words


def pulls(call: Invocation, names: list[Value]) -> None:
    """A `git pull`, of whose words the `names` are left: from which remote, and which branches."""
    reading = call.reading
    options = [word.text for word in call.words if word.fixed and word.text.startswith("-")]
    rebases = [text.partition("=")[2] for text in options if text.startswith("--rebase=")]
    known = {text.partition("=")[0] for text in options} <= _PULLING and {"true", "false", "merges"}.issuperset(rebases)
    remote, branches = names[:1], names[1:]
    fits = all(word.fixed and _REMOTE.fullmatch(word.text) for word in remote)
    fits = fits and all(word.fixed and _BRANCH.fullmatch(word.text) and ".." not in word.text for word in branches)
    if not known or not fits or not _ours(call):
        reading.operations.add(Operation.DELETE)
        return
    if reading.runs is RunsCode.WORKSPACE:
        reading.unknown.append("what the repository makes `git pull` run would share its way out")
    _fetched(reading, Operation.NETWORK)


def _fetched(reading: Reading, *more: Operation) -> None:
    reading.operations = {Operation.READ, Operation.WRITE, Operation.EXECUTE, *more}
    reading.runs = RunsCode.FETCHED
    reading.reshapes = True


def _ours(call: Invocation) -> bool:
    """Whether it works on the repository that the shell stands in, and nothing about it is in doubt."""
    reading = call.reading
    sure = not (reading.code or reading.cautious or reading.loose or any(each.file is None for each in reading.nested))
    return (
        sure
        and call.context.base is not None
        and reading.moved is None
        and reading.runs in (RunsCode.NONE, RunsCode.WORKSPACE)
        and on_its_own(reading.flags)
    )


def _known_strategy(call: Invocation) -> bool:
    if call.name.endswith((" cherry-pick", " revert")):
        chosen = call.arguments.values("--strategy")
    else:
        chosen = call.arguments.values("-s", "--strategy")
    return all(value.fixed and value.text in _STRATEGIES for value in chosen)


def _is_revision(word: Value) -> bool:
    return _REVISION.fullmatch(word.text) is not None


def _is_unknown_revision(word: Value) -> bool:
    return word.number and word.text.startswith("$(git ") and not set(word.bare or "") & set("/:*?[")


def _names_file(call: Invocation, text: str) -> bool:
    """Whether `git checkout` may take this for a file that is there, and put its old content in its place."""
    found = resolve_path(f"./{text}", call.context.place, base=call.context.base, expand_tilde=False)
    return found.exists or found.path is None or found.symlink
