"""Options of programs of which not every option is listed: those that are, with their values."""

from collections.abc import Mapping

from shield.facts.programs.invocation import Invocation
from shield.facts.programs.model import Option, Use
from shield.facts.programs.reading import Value
from shield.types import Operation, RunsCode

__all__ = ["abbreviated", "counted", "listed"]

_CODE = frozenset((Use.CODE, Use.COMMAND, Use.PROGRAM, Use.SHELL))


def counted(call: Invocation) -> list[Value]:
    """The words, in which a one stands for an integer of unknown value that is, or ends, the value of an option that
    names no file: to none of these programs another one means more."""
    found: list[Value] = []
    for word in call.words:
        if word.digits and word.bare == word.head:
            before = found[-1].text if found and found[-1].fixed and not word.head else ""
            if (name := word.head or before).startswith("-") and name != "-" and not _names(call, name):
                word = Value(text=word.head + "1", head=word.head + "1")  # noqa: PLW2901 - the word, as it is read
        found.append(word)
    return found


def _names(call: Invocation, text: str) -> bool:
    """Whether an option of these letters, or of this name, may take the name of a file or a place."""
    names = [text.partition("=")[0], *(f"-{letter}" for letter in text[1:] if not text.startswith("--"))]
    uses = [option.value for option in map(call.model.options.get, names) if option is not None]
    return any(use not in (None, Use.TEXT) for use in uses)


def listed(call: Invocation, word: Value, words: list[Value]) -> list[tuple[Option, Value | None]]:
    """The entry's options that `word` is, each with its value: after `=`, in the same word, or the next one."""
    options = call.model.options
    if not word.fixed:
        return []
    name, equals, tail = word.text.partition("=")
    option = options.get(name) or (options.get(name[1:]) if len(name) > 3 else None)  # to Go `--x` is `-x`
    if option is None:
        return [] if name.startswith("--") else _cluster(options, word.text, words)
    if option.value is None:
        return [(option, None)]
    if equals:
        return [(option, Value(text=tail, head=tail))]
    return [(option, None if option.joined or not words else words.pop(0))]


def _cluster(options: Mapping[str, Option], text: str, words: list[Value]) -> list[tuple[Option, Value | None]]:
    """`-kf FILE`, `-j8`: options of a letter; none where one of them is not listed."""
    found: list[tuple[Option, Value | None]] = []
    for at in range(1, len(text)):
        option = options.get("-" + text[at])
        if option is None:
            return []
        if option.value is not None:
            if rest := text[at + 1 :]:
                return [*found, (option, Value(text=rest, head=rest))]
            return [*found, (option, None if option.joined or not words else words.pop(0))]
        found.append((option, None))
    return found


def abbreviated(call: Invocation, name: str) -> None:
    """Many take the beginning of an option for it: that counts where it would run or show what nobody has looked at."""
    for key, option in call.model.options.items() if len(name) > 3 and name.startswith("--") else ():
        if key.startswith(name) and (option.runs is not RunsCode.NONE or option.asks or option.value in _CODE):
            call.reading.run(RunsCode.INLINE)
        # `--cache` is no beginning of `--cache-location`, but a name of its own
        if key.startswith(name) and Operation.DELETE in option.adds and key[len(name) :][:1].islower():
            call.reading.unknown.append(f"`{call.name[:80]} {key}` deletes what it names")
