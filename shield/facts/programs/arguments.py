"""An invocation's words told apart: options with their values, and operands (getopt_long(3))."""

from dataclasses import dataclass, field

from shield.facts.programs.model import Model, Option, Use
from shield.facts.programs.reading import Reading, Value
from shield.types import Access

__all__ = ["Arguments", "read_arguments"]


@dataclass(slots=True)
class Arguments:
    """An invocation's words told apart. `given` are the options in order, each with its value. `late`: values that are
    words behind an operand, and operands themselves to a program that takes options before these only; `spilt`: values
    that may be several words, of which the option takes the first."""

    operands: list[Value] = field(default_factory=list)
    given: list[tuple[Option, Value | None]] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)  # options that the model does not have
    late: list[Value] = field(default_factory=list)
    spilt: list[Value] = field(default_factory=list)

    def has(self, *names: str) -> bool:
        return any(option.name in names for option, _ in self.given)

    def values(self, *names: str) -> list[Value]:
        return [value for option, value in self.given if option.name in names and value is not None]


def read_arguments(model: Model, words: tuple[Value, ...], reading: Reading) -> Arguments:
    """Tell options from operands as getopt_long(3) does: clusters, `--x=y`, `--`, unambiguous abbreviations."""
    found = Arguments()
    at = 0
    if model.bundle and words and words[0].fixed and not words[0].text.startswith("-"):
        # tar(1), ps(1): the first operand is a cluster without its dash, its values follow in order.
        cluster, at = words[0].text, 1
        for letter in cluster:
            option = model.options.get("-" + letter)
            if option is None:
                found.foreign.append("-" + letter)
            elif option.value is not None and not option.joined:
                value = words[at] if at < len(words) else None
                at += 1
                _spill(value, found, reading)
                found.given.append((option, value))
            else:
                found.given.append((option, None))
    while at < len(words):
        word = words[at]
        at += 1
        text = word.text if word.fixed else word.head
        if text == "--" and word.fixed:
            found.operands.extend(words[at:])
            break
        if not word.fixed and not text:
            # It may begin with anything: an option, several, or nothing.
            reading.loose |= word.adrift
            found.operands.append(word)
        elif not text.startswith("-") or (text == "-" and word.fixed):
            if model.options and text.startswith("+") and "+" in model.options:
                found.given.append((model.options["+"], None))
                continue
            if model.response and text.startswith("@") and len(text) > 1:
                reading.path(Value(text=text[1:], known=word.fixed, head=text[1:] if word.fixed else ""), Access.READ)
                reading.caution()
            found.operands.append(word)
            if word.many:
                reading.loose = True
        else:
            at = _option(model, word, words, at, found, reading)
            if found.given and found.given[-1][0].ends:
                found.operands.extend(words[at:])
                break
            continue
        if model.leading:
            found.operands.extend(words[at:])
            break
    reading.flags.extend(option.name for option, _ in found.given)
    reading.flags.extend(found.foreign)
    if found.foreign:
        reading.caution()
    return found


def _option(model: Model, word: Value, words: tuple[Value, ...], at: int, found: Arguments, reading: Reading) -> int:
    """One word that begins with a dash; gives the place of the next word."""
    text = word.text if word.fixed else word.head
    name, joined, tail = text.partition("=")
    if text.startswith("--") or model.words:
        option = _long(model, name, reading)
        if option is None and model.params and word.fixed and name.startswith("--"):
            return _param(Option(name=name, value=Use.PARAM), tail if joined else None, words, at, found)
        if option is None:
            found.foreign.append(name)
            if not word.fixed:
                reading.loose = True
                found.operands.append(word)
            return at
        value: Value | None = None
        if option.pair:
            return _pair(option, word, words, at, found, reading)
        if joined:
            value = Value(text=tail) if word.fixed else _rest_of(word, len(name) + 1)
            if option.value is None:
                found.foreign.append(text)
        elif not word.fixed:
            reading.loose = True
        elif option.value is not None and not option.joined:
            value = words[at] if at < len(words) else None
            at += 1
            _spill(value, found, reading)
        found.given.append((option, value))
        return at
    if not word.fixed and word.roots is None and (word.many or len(text) < 2):
        reading.loose = True
        found.operands.append(word)
        return at
    if model.digits and text[1:].isdigit():
        return at
    return _cluster(model, word, words, at, found, reading)


def _pair(option: Option, word: Value, words: tuple[Value, ...], at: int, found: Arguments, reading: Reading) -> int:
    """An option that takes the next two words, whatever these begin with: a name, and what it stands for."""
    given = words[at : at + 2]
    if word.text != option.name or len(given) < 2 or any(value.several for value in given):
        # Where one may be more words than one, it is not known which are the two.
        reading.loose |= any(value.several for value in given)
        reading.caution()
        found.operands.extend(given)
    found.given.append((option, given[-1] if given else None))
    return at + 2


def _param(option: Option, tail: str | None, words: tuple[Value, ...], at: int, found: Arguments) -> int:
    """An option of unknown arity: every word up to the next option is a value of it."""
    if tail is not None:
        found.given.append((option, Value(text=tail, head=tail)))
        return at
    start = at
    while at < len(words) and not words[at].head.startswith("-") and not words[at].adrift:
        found.given.append((option, words[at]))
        if at > start and not set("=:") & set(words[at].text):
            found.operands.append(words[at])  # or an operand, if the option takes one value
        at += 1
    if at == start:
        found.given.append((option, None))
    return at


def _cluster(model: Model, word: Value, words: tuple[Value, ...], at: int, found: Arguments, reading: Reading) -> int:
    """`-abc`, the last of which may have its value in the same word or the next."""
    text = word.text if word.fixed else word.head
    for index in range(1, len(text)):
        option = model.options.get("-" + text[index])
        if option is None and model.digits and text[index].isdigit():
            continue
        if option is None:
            found.foreign.append("-" + text[index] if word.fixed else text)
            continue
        if option.value is None:
            found.given.append((option, None))
            continue
        rest = text[index + 1 :]
        value = None
        if rest or not word.fixed:
            value = Value(text=rest) if word.fixed else _rest_of(word, index + 1)
            if option.value is not Use.TEXT and len(rest) > 1 and rest.startswith("="):
                # Programs that parse with Go's pflag take `-f=x` for `x`, getopt(3) for `=x`: both are meant.
                found.given.append((option, value._replace(text=value.text[1:], head=value.head[1:])))
        elif not option.joined:
            value = words[at] if at < len(words) else None
            at += 1
            _spill(value, found, reading)
        found.given.append((option, value))
        return at
    if not word.fixed:
        reading.loose = True
    return at


def _spill(value: Value | None, found: Arguments, reading: Reading) -> None:
    """A value that is a word of its own. Where it may be many words the option takes the first, what follows is
    operands or further options."""
    if value is not None and found.operands:
        found.late.append(value)
    if value is not None and value.several:
        found.spilt.append(value)
    if value is not None and value.many:
        reading.loose = True
        found.operands.append(value)


def _rest_of(word: Value, skip: int) -> Value:
    """A word of unknown value without its first characters, which are known."""
    return Value(
        text=word.text[skip:],
        known=word.known,
        pattern=None if word.pattern is None else word.text[skip:],
        many=word.many,
        head=word.head[skip:],
        bare=word.bare[skip:] if word.bare is not None else None,
        roots=word.roots,
    )


def _long(model: Model, name: str, reading: Reading) -> Option | None:
    exact = model.options.get(name)
    if exact is not None or model.words:
        return exact
    close = [option for key, option in model.options.items() if key.startswith(name) and key.startswith("--")]
    if len(close) != 1:
        return None
    # An abbreviation is this option only if the model knows every option of the program: take both readings.
    reading.caution()
    return close[0]
