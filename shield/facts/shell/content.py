"""What one expansion stands for, and a word that is neither split nor matched (bash(1) EXPANSION)."""

from typing import Protocol

from shield.facts.shell.arithmetic import ANY, NATURAL, UntrustedError, evaluate
from shield.facts.shell.begun import begun, extended, kept_of
from shield.facts.shell.environment import is_secret, may_be_secret
from shield.facts.shell.field import escaped
from shield.facts.shell.grammar.script import LITERAL, Parameter, Part, PartKind, Word
from shield.facts.shell.lists import is_list, one_at_most
from shield.facts.shell.named import NAME, is_all, is_unset, length, may_lack, secret_in, value_of
from shield.facts.shell.parameter import cased, part_of, quoted_form, trimmed, with_replaced
from shield.facts.shell.state import State
from shield.facts.shell.tilde import Mode, untilded
from shield.facts.shell.variables import (
    Choice,
    Content,
    Fresh,
    Keyed,
    Listed,
    Matching,
    Number,
    Secret,
    is_natural,
    known_texts,
    united,
)
from shield.regex import regex

__all__ = ["Shell", "calculated", "content", "content_of", "pattern_of", "text_of"]

_PROMPT = regex(r"[\\$`]")
_OF_BRACKETS = regex(r"[-!^\]]")
_MAX_CHOICES = 8


class Shell(Protocol):
    """Whoever follows the line: expansions run commands and assign."""

    def output(self, part: Part, state: State) -> Content:
        """Follow what `$(…)` or `<(…)` runs; what it prints, without newlines at its end, where that is known."""

    def assign(self, name: str, value: Content, state: State) -> None:
        """Give a variable its value."""

    def entry(self, part: Part, state: State) -> Content:
        """One of the names that a substitution prints, if it was followed last and prints these alone."""


def content(part: Part, state: State, shell: Shell) -> Content:
    """What one piece of a word stands for, quoted or not."""
    match part.kind:
        case PartKind.LITERAL:
            return part.text
        case PartKind.VARIABLE:
            return value_of(part.text, state)
        case PartKind.SUBSTITUTION:
            return shell.output(part, state)
        case PartKind.PROCESS:
            shell.output(part, state)
            return None
        case PartKind.ARITHMETIC if part.word is not None:
            return calculated(part.word, state, shell)
        case PartKind.PARAMETER if part.parameter is not None:
            return _parameter(part.parameter, state, shell)
    state.doubt("an expansion is not known")
    return None


def content_of(word: Word, state: State, shell: Shell, mode: Mode = Mode.ASSIGNED) -> Content:
    """What a variable holds that the word is assigned to."""
    if len(word) == 1 and word[0].kind is not LITERAL:
        only = content(word[0], state, shell)
        return secret_in(word, state) if only is None or isinstance(only, Listed | Keyed) else only
    texts: tuple[str, ...] | None = ("",)
    contents: list[Content] = []
    for index, part in enumerate(word):
        if part.kind is LITERAL:
            found: Content = part.text if part.quoted else untilded(word, index, part.text, state, mode)[0]
        else:
            found = content(part, state, shell)
        contents.append(found)
        more = known_texts(found)
        if texts is None or more is None or len(texts) * len(more) > _MAX_CHOICES:
            texts = None  # and the other pieces are looked at all the same: they may run commands
        else:
            texts = tuple(dict.fromkeys(left + right for left in texts for right in more))
    if texts is None:
        return secret_in(word, state) or extended(contents) or begun(contents)
    return texts[0] if len(texts) == 1 else Choice(texts)


def text_of(word: Word, state: State, shell: Shell, mode: Mode = Mode.WHOLE) -> str | None:
    """The word's one known text without splitting or globbing; None where it is not known."""
    found = content_of(word, state, shell, mode)
    return found if isinstance(found, str) else None


def pattern_of(word: Word, state: State, shell: Shell) -> str | None:
    """The word as a pattern, its quoted characters in brackets; None where it is not known."""
    out: list[str] = []
    known, bracket = True, False
    for part in word:
        text = content(part, state, shell)
        if not isinstance(text, str) or (part.kind is LITERAL and text.startswith("~") and not part.quoted):
            known = False
        elif part.quoted:
            # between brackets a quoted `-`, `!`, `^` or `]` is none of the expression's own
            known &= not (bracket and _OF_BRACKETS.search(text))
            out.append(escaped(text))
        else:
            bracket |= "[" in text
            out.append(text)
    pattern = "".join(out)
    return pattern if known and "\\" not in pattern.replace("[\\]", "") else None


def calculated(word: Word, state: State, shell: Shell) -> Content:
    """The value of an arithmetic expression; where it may run commands the line is not understood."""
    out: list[str] = []
    known = True
    for part in word:
        found = content(part, state, shell)
        if isinstance(found, Number) and not found.several:
            out.append(NATURAL if found.natural else ANY)
        elif isinstance(found, str) and not (ANY in found or NATURAL in found):
            out.append(found)
        else:
            known = False
    try:
        if not known:
            raise UntrustedError
        return evaluate("".join(out), state, lambda name, value: shell.assign(name, value, state))
    except UntrustedError:
        state.doubt("arithmetic on what is not known to be a number")
        return Number()


def _parameter(parameter: Parameter, state: State, shell: Shell) -> Content:
    operator, words = parameter.operator, parameter.words
    if operator == "!names":
        return None
    subject = _subject(parameter, state, shell)
    if operator in (":-", "-", ":=", "=", ":+", "+", ":?", "?"):
        return _default(parameter, subject, state, shell)
    if operator == "#length":
        return length(parameter, subject, state)
    _whole(parameter, subject, state)
    if operator == ":":
        return _slice(parameter, subject, state, shell)
    if isinstance(subject, Secret):
        return subject
    # an operation is put to each of several parameters or elements, not to what they are joined to
    text = subject if isinstance(subject, str) and one_at_most(parameter, state) else None
    if operator in ("@P", "@E"):
        if text is None or _PROMPT.search(text):
            state.doubt("the text of a variable is expanded")
        return text
    if operator == "@Q":
        return None if text is None else _quoted(text, parameter, state)
    pattern = pattern_of(words[0], state, shell) if words else None
    if operator.startswith("/"):
        by = _replacement(words[1], state, shell) if len(words) > 1 else ""
        put = secret_in(words[1], state) if len(words) > 1 else None
        if put is not None:
            return put
        return None if text is None else _replaced(text, pattern, by, parameter, state)
    if not operator:
        return subject
    if text is None:
        return None
    if operator in ("#", "##", "%", "%%"):
        return trimmed(text, pattern, operator)
    if operator in ("^", "^^", ",", ",,", "@U", "@u", "@L"):
        # an empty pattern that is written down matches no character
        return cased(text, operator, (pattern or None) if words and words[0] else "")
    return None


def _subject(parameter: Parameter, state: State, shell: Shell) -> Content:
    """The variable that an operation is put to."""
    name = parameter.name
    if parameter.index is not None:
        found = _element(parameter.index, name, state, shell)
        if parameter.indirect and not is_all(parameter.index):
            state.doubt("the name of a variable is not known")
        return None if parameter.indirect else found
    found = value_of(name, state)
    if not parameter.indirect:
        return found
    if isinstance(found, str) and (NAME.match(found) or found.isdigit()):
        named = value_of(found, state)
        return Secret("$" + found) if named is None and may_be_secret(found) else named
    state.doubt("the name of a variable is not known")
    return None


def _element(index: Word, name: str, state: State, shell: Shell) -> Content:
    array = state.variables.get(name)
    if isinstance(array, Secret):
        return array
    if is_all(index):
        return " ".join(array.items) if isinstance(array, Listed) else None
    if isinstance(array, Keyed):
        for part in index:
            content(part, state, shell)
        return None
    place = calculated(index, state, shell)
    if isinstance(array, Listed) and isinstance(place, str):
        at = int(place)
        return array.items[at] if -len(array.items) <= at < len(array.items) else ""
    return None


def _whole(parameter: Parameter, subject: Content, state: State) -> None:
    """Doubt what takes a part of a secret: asked letter by letter, that is the whole of it."""
    secret = isinstance(subject, Secret) or (subject is None and is_secret(parameter.name))
    if secret and parameter.operator[:1] in (":", "#", "%", "/"):
        state.doubt("a part of a secret is looked at")


def _slice(parameter: Parameter, subject: Content, state: State, shell: Shell) -> Content:
    limits = [calculated(word, state, shell) for word in parameter.words]
    numbers = [int(limit) for limit in limits if isinstance(limit, str)]
    if isinstance(subject, Secret):
        return subject
    result = None
    if not is_list(parameter) and isinstance(subject, str) and len(numbers) == len(limits) and numbers:
        result = part_of(subject, numbers[0], numbers[1] if len(numbers) > 1 else None)
    if result is None and len(limits) > 1 and not is_natural(limits[1]):
        state.fail()  # it ends before it begins
    return result


def _replacement(word: Word, state: State, shell: Shell) -> str | None:
    """A `&` or backslash means the match in some versions of bash, and itself in others. Neither these nor a tilde in
    front are kept from it by double quotes around the whole expansion."""
    text = text_of(word, state, shell)
    lead = word[0] if word else None
    tilde = lead is not None and lead.kind is LITERAL and lead.quoted and lead.text.startswith("~")
    return None if text is None or tilde or "\\" in text or "&" in text else text


def _quoted(text: str, parameter: Parameter, state: State) -> str | None:
    """`${x@Q}`; of what may be set or not, None."""
    if is_unset(parameter, state):
        return text
    return None if not text and parameter.name in state.gone else quoted_form(text)


def _replaced(text: str, pattern: str | None, by: str | None, parameter: Parameter, state: State) -> str | None:
    """In what is not set nothing is put, in what is empty it may be."""
    result = with_replaced(text, pattern, parameter.operator, by)
    unsure = not text and (may_lack(parameter, state) or is_unset(parameter, state))
    return None if unsure and result else result


def _default(parameter: Parameter, subject: Content, state: State, shell: Shell) -> Content:
    """`:-` and its kin. The word's commands are followed whether they are needed or not."""
    operator = parameter.operator
    word = parameter.words[0] if parameter.words else ()
    before = state.copy() if any(part.kind is not LITERAL for part in word) else state
    other = content_of(word, state, shell, Mode.WHOLE)
    state.perhaps(before)
    if operator.endswith("?") and isinstance(other, Secret):
        state.doubt(f"`{other.source}` may be complained of, which shows it")
    if isinstance(subject, Fresh) and (kept := kept_of(operator, subject, other)) is not None:
        return kept
    if operator.endswith("?") and not (isinstance(subject, str) and subject):
        state.fail(ends=True)
    if operator.endswith("?") or (isinstance(subject, Secret) and not operator.endswith("+")):
        return subject
    alternative = operator.endswith("+")
    colon = operator.startswith(":")
    texts = known_texts(subject)
    if isinstance(subject, Number) and subject.maybe and operator == ":-":
        return united(subject._replace(maybe=False), other)
    numbered = isinstance(subject, Number) and not subject.maybe
    if numbered or isinstance(subject, Matching) or (texts is not None and all(texts)):
        return other if alternative else subject
    result: Content = None
    if subject == "" and (colon or is_unset(parameter, state)):
        result = "" if alternative else other
    elif subject == "" and not parameter.name.isdigit():
        # an empty text may also stand for what is not set: unset on one of two ways, a place that an array lacks, or
        # what another variable names
        sure = not may_lack(parameter, state)
        result = (other if alternative else "") if sure else united("", other)
    if result is None and isinstance(other, Secret):
        result = other  # perhaps: what may be a secret is one
    if operator.endswith("="):
        if not NAME.match(parameter.name) or is_all(parameter.index):
            state.fail()  # it cannot be assigned to
        if parameter.index is not None:
            state.arrays.add(parameter.name)
        shell.assign(parameter.name, result if parameter.index is None else None, state)
    return result
