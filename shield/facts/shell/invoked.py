"""What a command does with its words, by the model of what it calls; and by what may be called, where nothing knows."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import combinations

from shield.facts.place import Place
from shield.facts.programs.forwarding import forwarded
from shield.facts.programs.inherited import run_inherited
from shield.facts.programs.invocation import Context, read_invocation
from shield.facts.programs.leading import mention_within
from shield.facts.programs.managed import managed
from shield.facts.programs.model import Use
from shield.facts.programs.outcomes import told_outcome
from shield.facts.programs.reading import Nested, NestedKind, PathUse, Reading, Value
from shield.facts.programs.scripts import run_file
from shield.facts.programs.shims import read_shim
from shield.facts.programs.special import SPECIALS
from shield.facts.shell.builtins import BUILTIN_SPECIALS
from shield.facts.shell.called import Called
from shield.facts.shell.frame import Frame
from shield.facts.shell.glob import directory_of
from shield.facts.shell.pathuse import looks_like_path
from shield.facts.shell.state import State
from shield.types import Access, Operation, Origin, RunsCode

__all__ = ["read_called", "read_uncalled"]

_ALL_SPECIALS = SPECIALS.below(BUILTIN_SPECIALS)
_OURS = (Origin.SYSTEM, Origin.BUILTIN, Origin.USER)
_MAX_FLEETING = 3
_MAX_LOOSE = 4
_OPERAND = "./"  # what a word begins with that is no option
_FOREIGN = (Origin.WORKSPACE, Origin.TEMP)


def read_called(called: Called, words: tuple[Value, ...], place: Place, state: State, frame: Frame) -> Reading:
    """What the command does with `words`, those behind its name."""
    fleeting = [index for index, word in enumerate(words) if word.many and (word.number or word.roots is not None)]
    if fleeting:
        reading = _each(called, words, fleeting, place, state, frame)
    else:
        reading = _read(called, words, place, state, frame)
    if reading.code and reading.loose:
        reading = _settled(called, words, place, state, frame) or reading
    _list_directories(words, reading)
    return reading


def read_uncalled(words: tuple[Value, ...], reading: Reading) -> Reading:
    """The same for a program whose name is not known, added to `reading`: it may do anything with `words`."""
    reading.caution()
    for word in words:
        reading.use(Use.ANY, word)
    return reading


def _each(
    called: Called, words: tuple[Value, ...], fleeting: list[int], place: Place, state: State, frame: Frame
) -> Reading:
    """All that the command may do with words some of which may be none: `sort -S $(wc -l <x) -k --output=y`."""
    present = [word._replace(many=False, unset=None) if index in fleeting else word for index, word in enumerate(words)]
    reading = _read(called, tuple(present), place, state, frame)
    if len(fleeting) > _MAX_FLEETING:
        reading.code = True
        reading.caution()
        return reading
    listed = [_written(nested) if nested.fresh else None for nested in reading.nested]
    reading.code |= None in listed
    for size in range(1, len(fleeting) + 1):
        for gone in combinations(fleeting, size):
            rest = tuple([word for index, word in enumerate(present) if index not in gone])
            other = _read(called, rest, place, state, frame)
            for nested in other.nested:
                written = _written(nested) if nested.fresh else None
                reading.code |= written is None
                if written not in listed:
                    listed.append(written)
                    reading.nested.append(nested)
            _join(reading, other)
    return reading


def _join(reading: Reading, other: Reading) -> None:
    """Add what else the same command may do."""
    reading.operations |= other.operations
    reading.paths += other.paths
    reading.hosts += other.hosts
    reading.unknown += other.unknown
    reading.unread += other.unread
    reading.said += other.said
    reading.flags += other.flags
    reading.run(other.runs)
    reading.cautious |= other.cautious
    reading.loose |= other.loose
    reading.code |= other.code
    reading.program_unknown |= other.program_unknown
    reading.reshapes |= other.reshapes
    reading.prints = None


def _settled(called: Called, words: tuple[Value, ...], place: Place, state: State, frame: Frame) -> Reading | None:
    """A name that nothing is known to set may hold an option; but where the command runs nothing but what it is seen to
    run, whichever of the names are unset and which are mere operands, it is an argument that is not known, and no code.
    None where that is not so, or where something else is not known."""
    loose = [index for index, word in enumerate(words) if word.unset is not None]
    if not loose or len(loose) > _MAX_LOOSE:
        return None
    operands = [word if word.unset is None else word._replace(many=False, head=word.head or _OPERAND) for word in words]
    reading = _read(called, tuple(operands), place, state, frame)
    if not _is_plain(reading):
        return None
    listed = [_written(replace(nested, words=_unset(nested.words, None))) for nested in reading.nested]
    without = reading
    for size in range(1, len(loose) + 1):
        for gone in combinations(loose, size):
            without = _read(called, _unset(tuple(operands), gone), place, state, frame)
            runs = [_written(replace(nested, words=_unset(nested.words, None))) for nested in without.nested]
            if not _is_plain(without) or any(each not in listed for each in runs):
                return None
    # It may be an option all the same: whatever the command does, it is not allowed for what it seems to do.
    reading.caution()
    given = {word.text: word for word in words if word.unset is not None}
    reading.paths = [replace(use, value=_given(use.value, given)) for use in reading.paths]
    reading.paths += [use for use in without.paths if _does_harm(use)]
    for word in given.values():
        if word.adrift:
            reading.path(Value(text=word.text, known=False), Access.WRITE)
    reading.nested = [
        replace(item, words=tuple([_given(word, given) for word in item.words])) for item in reading.nested
    ]
    reading.hosts += without.hosts
    reading.unknown += without.unknown
    reading.unread += without.unread
    return reading


def _is_plain(reading: Reading) -> bool:
    """Whether it runs nothing but commands that are given as they are written."""
    runs = reading.runs is not RunsCode.NONE or reading.code
    return not runs and all(_written(nested) is not None for nested in reading.nested)


def _unset(words: tuple[Value, ...], gone: tuple[int, ...] | None) -> tuple[Value, ...]:
    """The words where the names in those at `gone` (None: in any) are not set. An empty one is an operand."""
    rest: list[Value] = []
    for index, word in enumerate(words):
        if word.unset is None or (gone is not None and index not in gone):
            rest.append(word)
        else:
            rest += [each if each.text or each.head else each._replace(head=_OPERAND) for each in word.unset]
    return tuple(rest)


def _given(value: Value, given: Mapping[str, Value]) -> Value:
    """The word again that was taken for an operand: where it leads is not known."""
    if value.roots is not None:
        return value._replace(roots=tuple([_given(root, given) for root in value.roots]))
    return given.get(value.text, value) if value.unset is not None else value


def _does_harm(use: PathUse) -> bool:
    """Whether it matters what is done where a name is not set: where nothing is named, nothing is done."""
    named = use.value.text != "" and all(root.text for root in use.value.roots or ())
    return named and use.access not in (Access.READ, Access.LIST)


def _written(nested: Nested) -> tuple[object, ...] | None:
    """A command that is started as it is written, by words of which the first is known; None for all others."""
    if nested.kind is not NestedKind.ARGV or not nested.words or not nested.words[0].fixed or nested.moved is not None:
        return None
    texts = tuple([word.text for word in nested.words])
    return (*texts, nested.via, nested.fresh, nested.external, nested.elsewhere, nested.assignments)


def _read(called: Called, words: tuple[Value, ...], place: Place, state: State, frame: Frame) -> Reading:
    name, found, model = called
    if found.origin is Origin.FUNCTION or (found.origin is Origin.BUILTIN and model is None):
        # What a function or a builtin without a model does to the shell is not followed.
        reading = Reading(code=True)
        reading.caution()
        return reading
    context = Context(
        place=place,
        bases=state.bases,
        piped=frame.piped or state.fed,
        fetched=frame.fetched,
        stdin=frame.fed,
        whole=frame.whole and frame.fed is not None,
        opened=frame.opened if frame.whole else None,
        names=frame.names if frame.whole else None,
        numbers=frame.numbers and frame.whole,
        hashes=frame.hashes and frame.whole,
        told=frame.told,
        dictated=frame.dictated,
    )
    if model is not None:
        reading = read_invocation(name, model, words, context, _ALL_SPECIALS)
    else:
        reading = _unmodelled(name, words)
    searched = state.searched and found.origin is not Origin.BUILTIN
    if found.origin in _FOREIGN or (searched and not _spared(state, reading)):
        reading.run(RunsCode.WORKSPACE)
    outputs = _outputs(words, reading) if model is not None and model.special == "project" else frozenset()
    if found.origin in _FOREIGN and found.file is not None:
        run_file(reading, found.file, words, context)
        managed(reading, Value(text=found.file), words)
    if found.shim is not None:
        read_shim(found.shim, found.file or found.shim, reading, words, context)
    if model is None or found.origin not in _OURS:
        # Another file of this name may do anything with its arguments.
        _open((word for at, word in enumerate(words) if at not in outputs), reading, place, state)
    elif reading.cautious:
        for word in words:
            text = word.text.partition("=")[2] if word.text.startswith("-") else word.text
            tail = word._replace(text=text, head=text if word.fixed else "")
            if text and looks_like_path(tail, place, state.bases):
                reading.use(Use.ANY, tail)
    told_outcome(reading, name, words)
    run_inherited(reading, name, context)
    for text in reading.said:
        mention_within(reading, f" {text}", home=place.home)
    return reading


def _spared(state: State, reading: Reading) -> bool:
    """Whether a program that is not in the environment that was entered may be taken for the system's. By the time it
    is started another one may lie there: then that is code of the workspace, as entering it was, and runs where that
    may run. So only what reaches further than such code is judged as if it were."""
    return state.entered and Operation.NETWORK not in reading.operations


def _unmodelled(name: str, words: tuple[Value, ...]) -> Reading:
    """A program of which nothing is known but its name: it may hand on what looks like a command."""
    reading = Reading()
    reading.nested += forwarded(name, words)
    for word in words:
        if word.text.startswith("-") and word.text != "-":
            reading.flags.append(word.text.partition("=")[0])
    return reading


def _outputs(words: tuple[Value, ...], reading: Reading) -> frozenset[int]:
    """The words, by their numbers, in which an option of its model names an output, and nothing that is read."""
    written = {use.value.text for use in reading.paths if use.access is Access.WRITE}
    written -= {use.value.text for use in reading.paths if use.access is not Access.WRITE}
    return frozenset(
        at
        for at, word in enumerate(words)
        if word.fixed
        and (
            (word.text in written and at > 0 and words[at - 1].text.startswith("-"))
            or (word.text.startswith("-") and word.text.partition("=")[2] in written)
        )
    )


def _open(words: Iterable[Value], reading: Reading, place: Place, state: State) -> None:
    """It may do anything with what its words name."""
    reading.caution()
    for word in words:
        if looks_like_path(word, place, state.bases):
            reading.use(Use.ANY, word)
        if word.fixed:
            mention_within(reading, word.text, home=place.home)


def _list_directories(words: tuple[Value, ...], reading: Reading) -> None:
    """Whatever the program does with the names, the shell has read the directories that its patterns stand in."""
    for word in words:
        if word.pattern is None:
            continue
        for use in reading.paths:
            if use.value.pattern == word.pattern:
                break
        else:
            reading.path(directory_of(word), Access.LIST)
