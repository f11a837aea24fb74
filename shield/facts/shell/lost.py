"""What holds where something could not be made that a line names: `t=$(mktemp -d)` that fails leaves `t` empty."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from shield.facts.programs.reading import Reading, Value
from shield.facts.shell.frame import Done, Frame
from shield.facts.shell.grammar.script import AndOr, PartKind, Simple, Test, Word, literal
from shield.facts.shell.state import State
from shield.facts.shell.variables import Fresh
from shield.types import Access, CommandFact, Dynamic, Origin, PathFact

__all__ = ["ends_here", "made_anew", "made_or_not", "nameless", "proven", "whole", "without_lost"]

# They hand a name on as it is: an empty one is that of no file, and an error (path_resolution(7)).
_KERNEL_TEXT = """
cat chmod cmp comm cp cut diff du egrep expand fgrep file find fold grep head install jq ln ls md5sum mkdir mkfifo mv nl
paste readlink rm rmdir sed sha1sum sha256sum sha512sum shred sort split stat tac tail tee touch tr truncate uniq unlink
wc
"""
_KERNEL = frozenset(_KERNEL_TEXT.split())
# These take it for a text.
_TEXTS = frozenset((":", "[", "echo", "false", "printf", "test", "true"))
_MOVES = frozenset(("cd", "popd", "pushd"))  # to stay where the shell stands
_ENDING = frozenset(("[", "cd", "mkdir", "test"))
# Tests that nothing passes, and the one that only nothing does.
_TELLING = frozenset(("-d", "-e", "-f", "-n", "-r", "-s", "-w", "-x", "-z"))
_MAX_LOST = 3


def made_or_not(node: Simple, state: State) -> Done:
    """How the shell goes on after assignments alone: they fail if the last command that is substituted does."""
    last = node.assignments[-1] if node.assignments else None
    if last is None or not last.plain or last.append or last.index is not None or last.items is not None:
        return Done(state, state)
    found = state.variables.get(last.name)
    own = bool(last.value) and any(part.kind is PartKind.SUBSTITUTION for part in last.value)
    others = sum(part.kind is not PartKind.LITERAL for part in last.value)
    if not isinstance(found, Fresh) or found.lost is None or not own or others != 1:
        return Done(state, state)
    failed = state.copy()
    failed.variables[last.name] = found.lost
    state.variables[last.name] = found._replace(lost=None)
    return Done(state, failed)


def made_anew(command: CommandFact, facts: Sequence[PathFact], state: State) -> Done:
    """After `mkdir`: one that succeeds without `-p` has made every folder that it names, for none was there."""
    plain = command.origin is Origin.SYSTEM and command.dynamic is Dynamic.NONE and not command.assignments
    made = {fact.resolved for fact in facts if fact.access is Access.WRITE and fact.resolved is not None}
    known = all(fact.resolved is not None and not fact.symlink for fact in facts)
    plain = plain and all(each.target == "/dev/null" for each in command.redirects) and len(state.bases) == 1
    if not plain or not known or not made or not set(command.flags) <= {"-m", "-v", "--mode", "--verbose"}:
        return Done(state, state)
    anew = state.copy()
    anew.made |= {f"{path}" for path in made}
    return Done(anew, state)


def nameless(name: str, reading: Reading) -> None:
    """Take the empty names out of what a program does that hands them on as they are."""
    if name in _KERNEL or name in _MOVES:
        reading.paths = [use for use in reading.paths if not _is_empty(use.value) and not _is_empty(use.below)]


def _is_empty(value: Value | None) -> bool:
    return value is not None and value.fixed and not value.text


def proven(node: Simple, state: State, done: Done) -> Done:
    """After `[ -n "$t" ]`, `[ -d "$t" ]`: if that succeeds, what `t` names was made: the empty name is of nothing."""
    texts = [literal(word) for word in node.words]
    if (
        len(texts) < 3
        or texts[0] in state.functions
        or texts
        not in (
            ["test", texts[1], None],
            ["[", texts[1], None, "]"],
        )
    ):
        return done
    return _told(texts[1] or "", _named(node.words[2], quoted=True), state, done)


def _told(operator: str, name: str, state: State, done: Done) -> Done:
    found = state.variables.get(name)
    if not isinstance(found, Fresh) or found.lost != "" or operator not in _TELLING:
        return done
    sides = []
    for end, there in ((done.success, operator != "-z"), (done.failure, operator == "-z")):
        side = end.copy() if end is not None and there else end
        if side is not None and there:
            side.variables[name] = found._replace(lost=None)
        sides.append(side)
    return Done(*sides)


def told_condition(node: Test, state: State, done: Done) -> Done:
    """The same after `[[ -d $t ]]`."""
    condition = node.condition
    name = _named(condition.words[0], quoted=False) if len(condition.words) == 1 else ""
    return _told(condition.operator, name, state, done)


def _named(word: Word, *, quoted: bool) -> str:
    """The variable that the word is and nothing else; empty if it is another word."""
    parts = [part for part in word if part.kind is not PartKind.LITERAL or part.text]
    only = parts[0] if len(parts) == 1 else None
    return only.text if only is not None and only.kind is PartKind.VARIABLE and only.quoted >= quoted else ""


def ends_here(item: AndOr, state: State, frame: Frame) -> bool:
    """Whether the shell surely ends where these lists fail, as `set -e` has it (bash(1), SHELL BUILTIN COMMANDS).
    Said of few commands alone: of others it hangs on what they run."""
    if not state.ending or not state.exact or frame.tried or item.background or len(item.pipelines) != 1:
        return False
    pipeline = item.pipelines[0]
    only = pipeline.stages[0]
    if len(pipeline.stages) != 1 or pipeline.negated or not isinstance(only, Simple):
        return False
    name = literal(only.words[0]) if only.words else None
    return not only.words or (name in _ENDING and name not in state.functions)


def whole(words: tuple[Value, ...]) -> tuple[Value, ...]:
    """The words where all was made."""
    return tuple([word._replace(lost=None) for word in words])


def without_lost(words: tuple[Value, ...]) -> Iterator[tuple[Value, ...]]:
    """The words of a command where something was not made, in every way that this may be."""
    names = list(dict.fromkeys(word.lost.name for word in words if word.lost is not None))
    if not names:
        return
    kernel = words[0].fixed and not words[0].fresh and words[0].text in _KERNEL | _TEXTS
    if kernel and all(word.lost is None or _is_nothing(word.lost.words) for word in words):
        return
    sizes = range(1, len(names) + 1) if len(names) <= _MAX_LOST else (1, len(names))
    for size in sizes:
        for gone in combinations(names, size):
            out: list[Value] = []
            for word in words:
                if word.lost is not None and word.lost.name in gone:
                    out.extend(word.lost.words)
                else:
                    out.append(word._replace(lost=None))
            yield tuple(out)


def _is_nothing(words: tuple[Value, ...]) -> bool:
    return len(words) == 1 and words[0].fixed and not words[0].text
