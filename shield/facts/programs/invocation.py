"""One invocation: a program's entry put to the words it was given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from types import MappingProxyType

from shield.facts.programs.above import stands_above
from shield.facts.programs.arguments import Arguments, read_arguments
from shield.facts.programs.context import Context
from shield.facts.programs.leading import mention_value
from shield.facts.programs.model import Model, Use
from shield.facts.programs.reading import Nested, NestedKind, Reading, Value
from shield.regex import regex
from shield.types import Access, Operation, RunsCode

__all__ = ["Context", "Invocation", "Special", "read_invocation"]


@dataclass(slots=True)
class Invocation:
    """What a special reader works on. It answers True where it has taken the operands for itself."""

    name: str
    model: Model
    words: tuple[Value, ...]
    reading: Reading
    context: Context
    arguments: Arguments = field(default_factory=Arguments)
    recursive: bool = False
    specials: "Mapping[str, Special]" = field(default_factory=lambda: MappingProxyType({}))

    @property
    def operands(self) -> list[Value]:
        return self.arguments.operands

    def command(self, words: list[Value], *, elsewhere: bool = False) -> None:
        """These words are a command that would run."""
        if words:
            self.reading.operations.add(Operation.EXECUTE)
            self.reading.nested.append(
                Nested(
                    kind=NestedKind.ARGV,
                    words=tuple(words),
                    via=(self.name,),
                    moved=self.reading.moved,
                    elsewhere=elsewhere,
                )
            )

    def read_as(self, name: str, model: Model, words: tuple[Value, ...]) -> None:
        """These words do, in the same process, what `name` does with them by `model`."""
        self.reading.operations |= _always(model)
        _read(
            Invocation(
                name=name,
                model=model,
                words=words,
                reading=self.reading,
                context=self.context,
                specials=self.specials,
            )
        )


Special = Callable[[Invocation], bool]


def read_invocation(
    name: str, model: Model, words: tuple[Value, ...], context: Context, specials: Mapping[str, Special]
) -> Reading:
    """What `name words…` does, by `model`. A special reader that the entry names but nobody gives is cautious."""
    reading = Reading(operations=set(_always(model)))
    call = Invocation(name=name, model=model, words=words, reading=reading, context=context, specials=specials)
    _read(call)
    if reading.loose and not model.steady:
        # An argument of unknown value could be an option, and this program has options that change what it does.
        reading.code = True
        reading.caution()
    elif reading.loose and _opens(model):
        # Steady, but an option of it names a file (`grep -f`, `touch -r`): which, is not known.
        for word in words:
            if word.adrift:
                reading.path(word, Access.READ)
            if word.adrift and word.pattern is not None:
                # A file lies there whose name is such an option (`-t..` for `cp *`).
                reading.code = True
                reading.caution()
    return reading


def _always(model: Model) -> frozenset[Operation]:
    """What every invocation does; where an option says what is to be done, that comes later."""
    return frozenset() if model.choices is not None else model.does


def _opens(model: Model) -> bool:
    return any(option.value not in (None, Use.TEXT, Use.LIST) for option in model.options.values())


def _read(call: Invocation) -> None:
    model, reading = call.model, call.reading
    if _tells(model, call.words) and not _is_led(call):
        # Nothing of anybody's is read, and nothing else is done; an option before it may be more than that.
        if not reading.flags:
            reading.operations.clear()
        reading.flags.append(call.words[0 if call.words[0].text == "help" else -1].text)
        return
    if model.options and not model.open:
        call.arguments = read_arguments(model, call.words, reading)
    else:
        call.arguments = _bare_arguments(model, call.words, reading, special=model.special is not None)
    reading.run(model.runs)
    if model.asks is not None and model.choices is None:
        _ask(call, model.asks)
    spared = _options(call)
    # getopt(3) of a BSD ends the options at the first operand.
    late = call.arguments.late if call.context.place.platform == "darwin" else []
    for value in (*call.arguments.spilt, *late):
        reading.use(Use.READ if model.rest is Use.TEXT else model.rest, value, recursive=call.recursive)
    if model.fewer is not None and len(call.operands) <= len(model.first):
        reading.caution()
        reading.unknown.append(f"`{call.name[:80]}`: {model.fewer}")
    if model.choices is not None:
        model = _choose(call, model.choices)
    if model.special is not None:
        special = call.specials.get(model.special)
        if special is None:
            reading.caution()
        elif special(call):
            return
    if model.subcommands is not None:
        _subcommand(call)
        return
    _operands(call, spared=spared)


def _is_led(call: Invocation) -> bool:
    """Whether the answer may be that of another version, which a file of the project names."""
    names, place = call.model.led, call.context.place
    return bool(names) and any(base is None or stands_above(place, base, names) for base in call.context.bases)


def _tells(model: Model, words: tuple[Value, ...]) -> bool:
    """Whether the words are no more than a question: one that `tells`, behind the program or the names of subcommands,
    or `help` before names.

    A subcommand that only a pattern describes may hand the word on.
    """
    if len(words) > 1 and words[0].fixed and words[0].text == "help" and "help" in model.tells:
        return all(word.fixed and _NAME.fullmatch(word.text) for word in words[1:])
    if len(words) > 1 and model.helpful and words[-1].fixed and words[-1].text == "help":
        return all(word.fixed and _NAME.fullmatch(word.text) for word in words)
    for word in words[:-1]:
        sub = (model.subcommands or {}).get(word.text) if word.fixed else None
        if sub is None:
            return False
        model = sub
    return bool(words) and words[-1].fixed and words[-1].text in model.tells


_NAME = regex(r"[a-z][a-z0-9-]*")


def _bare_arguments(model: Model, words: tuple[Value, ...], reading: Reading, *, special: bool) -> Arguments:
    """Without a table of options every option is foreign, but for readers that parse the words themselves."""
    if special or model.leading:
        return Arguments(operands=list(words))
    return read_arguments(model, words, reading)


def _options(call: Invocation) -> bool:
    """Apply the options; answers whether one of them took the first operand's place."""
    reading = call.reading
    for option, value in call.arguments.given:
        if option.value is Use.CHDIR and value is not None:
            reading.use(Use.CHDIR, value)
    spared = False
    call.recursive = call.model.tree or any(option.recursive for option, _ in call.arguments.given)
    for option, value in call.arguments.given:
        spared |= option.spares_first
        reading.operations |= option.adds
        reading.run(option.runs)
        if option.asks is not None:
            reading.caution()
            reading.ask(f"`{call.name[:80]} {option.name}`: {option.asks}")
        if option.value is not None and value is not None and option.value is not Use.CHDIR:
            reading.use(option.value, value)
            if option.value is Use.TEXT and call.model.runs is not RunsCode.NONE:
                # Only to programs whose every option is known to be harmless a text is no more than that.
                mention_value(reading, value, home=call.context.place.home)
    return spared


def _choose(call: Invocation, choices: Mapping[str, Model]) -> Model:
    """The entry that the one option among `choices` stands for, from here on the invocation's own."""
    reading = call.reading
    names = {option.name for option, _ in call.arguments.given if option.name in choices}
    found = [choices[name] for name in sorted(names)]
    if len(found) > 1 and any(replace(each, name="") != replace(found[0], name="") for each in found):
        reading.unknown.append(f"which of `{' '.join(sorted(names))[:80]}` holds for `{call.name[:80]}` is not known")
        for each in found:
            reading.operations |= each.does
            reading.run(each.runs)
        reading.caution()
        return call.model
    if not found:
        reading.operations |= call.model.does
        if call.model.asks is not None:
            _ask(call, call.model.asks)
        if call.model.verbs:
            reading.caution()
            reading.unknown.append(f"what `{call.name[:80]}` is to do is not known")
        return call.model
    call.model = found[0]
    reading.operations |= call.model.does
    reading.run(call.model.runs)
    if call.model.asks is not None:
        _ask(call, call.model.asks)
    return call.model


def _ask(call: Invocation, why: str) -> None:
    """An entry that says why it asks and not what it does may do anything."""
    if not call.model.does:
        call.reading.caution()
    call.reading.ask(f"`{call.name[:80]}`: {why}")


def _operands(call: Invocation, *, spared: bool) -> None:
    model = call.model
    operands = list(call.operands)
    default = [] if model.default is None else [Value(text=model.default, head=model.default)]
    for pattern, why in model.guarded.items():
        if any(not word.fixed or fnmatchcase(word.text.lower(), pattern) for word in operands):
            call.reading.caution()
            call.reading.ask(f"`{call.name[:80]}`: {why}")
    if not spared:
        for use in model.first:
            if operands:
                # One that may be several words, or may stand behind such, is one of the others, too.
                shifted = operands[0].several or bool(call.arguments.spilt)
                value = operands[0] if shifted else operands.pop(0)
                call.reading.use(use, value, recursive=call.recursive)
                operands += default if shifted and len(operands) == 1 else []
    if model.rest is Use.COMMAND:
        call.command(operands, elsewhere=model.elsewhere)
        return
    operands = operands or default
    for index, value in enumerate(operands):
        last = model.last if index == len(operands) - 1 else None
        if last is None or value.several:
            call.reading.use(model.rest, value, recursive=call.recursive)
        if last is not None:
            call.reading.use(last, value, recursive=call.recursive)


def _subcommand(call: Invocation) -> None:
    assert call.model.subcommands is not None
    reading = call.reading
    if not call.operands:
        return
    if call.arguments.foreign and (call.model.verbs or call.model.runs is not RunsCode.NONE):
        # It may take the next word for its value: which one is the subcommand is not known.
        reading.unknown.append(f"what `{call.arguments.foreign[0][:80]}` is to `{call.name[:80]}` is not known")
    word = call.operands[0]
    sub = call.model.sub(word.text) if word.fixed else None
    if sub is None:
        reading.caution()
        reading.run(RunsCode.WORKSPACE)
        reading.code |= not word.fixed
        if call.model.verbs:
            reading.unknown.append(f"what `{call.name[:80]} {word.text[:80]}` does is not known")
        for value in call.operands[1:]:
            reading.use(Use.ANY, value)
        return
    call.read_as(f"{call.name} {word.text}", sub, tuple(call.operands[1:]))
    reading.loose &= not sub.steady
