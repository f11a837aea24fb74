"""What holds where something could not be made that a line names: `t=$(mktemp -d)` that fails leaves `t` empty."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from shield.facts.programs.reading import Reading, Value
from shield.facts.shell.frame import Done, Frame
from shield.facts.shell.grammar.script import AndOr, Condition, PartKind, Simple, Test, Word, literal
from shield.facts.shell.state import State
from shield.facts.shell.variables import Fresh
from shield.types import Access, CommandFact, Dynamic, Origin, PathFact

__all__ = ["ends_here", "made_anew", "made_or_not", "nameless", "proven", "whole", "without_lost"]

# They hand a name on as it is: an empty one is that of no file, and an error (path_resolution(7)).
_KERNEL_TEXT = """
cat chmod cmp comm cp cut diff du egrep expand fgrep file find fold grep head install jq ln ls md5sum mkdir mkfifo mv nl
paste readlink rm rmdir sed sha1sum sha256sum sha512sum shred sort stat tac tail tee touch tr truncate uniq unlink
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
_STILL = (PartKind.LITERAL, PartKind.VARIABLE)


def made_or_not(node: Simple, state: State) -> Done:
    """How the shell goes on after assignments alone: they fail if the last command that is substituted does."""
    last = node.assignments[-1] if node.assignments else None
    if last is None or not last.plain or last.append or last.index is not None or last.items is not None:
        return Done(state, state)
    if any(part.kind not in _STILL for each in node.redirects for part in each.target):
        return Done(state, state)  # what is substituted there comes last
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
    anew.made |= made
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
    if not texts or texts[0] in state.functions or not (texts[0] == "test" or (texts[0] == "[" and texts[-1] == "]")):
        return done
    words = node.words[1:] if texts[0] == "test" else node.words[1:-1]
    negated = literal(words[0]) == "!" if len(words) == 3 else False
    *asked, named = words[1:] if negated else words or ((),)
    if len(asked) > 1:
        return done
    operator = literal(asked[0]) if asked else "-n"
    there, gone = _telling(operator or "", _named(named, quoted=True))
    return _told(gone, there, state, done) if negated else _told(there, gone, state, done)


def _telling(operator: str, name: str) -> tuple[frozenset[str], frozenset[str]]:
    """The names of something where a test of this one succeeds, and where it fails."""
    names = frozenset((name,)) if name and operator in _TELLING else frozenset[str]()
    return (frozenset(), names) if operator == "-z" else (names, frozenset())


def _told(there: frozenset[str], gone: frozenset[str], state: State, done: Done) -> Done:
    """`there`: variables that name something where the test succeeds; `gone`: where it fails."""
    return Done(*(_made_sure(names, state, end) for names, end in ((there, done.success), (gone, done.failure))))


def _made_sure(names: frozenset[str], state: State, end: State | None) -> State | None:
    """The end of a test where what these name is there: made, unless they may name something else, too."""
    found = [(name, state.variables.get(name)) for name in names]
    sure = {name: each._replace(lost=None) for name, each in found if isinstance(each, Fresh) and each.lost == ""}
    if end is None or not sure:
        return end
    side = end.copy()
    side.variables.update(sure)
    return side


def told_condition(node: Test, state: State, done: Done) -> Done:
    """The same after `[[ -n $t && -d $t ]]`."""
    return _told(*_of_condition(node.condition), state, done)


def _of_condition(condition: Condition) -> tuple[frozenset[str], frozenset[str]]:
    if not condition.conditions:
        name = _named(condition.words[0], quoted=False) if len(condition.words) == 1 else ""
        return _telling(condition.operator, name)
    sides = [_of_condition(each) for each in condition.conditions]
    there, gone = [side[0] for side in sides], [side[1] for side in sides]
    if condition.operator == "!":
        return gone[0], there[0]
    if condition.operator == "&&":
        return frozenset().union(*there), frozenset.intersection(*gone)
    return frozenset.intersection(*there), frozenset().union(*gone)


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
