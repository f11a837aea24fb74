"""Words to values: the words that bash's expansions make of one, where that can be known (bash(1) EXPANSION)."""

import re

from shield.facts.programs.reading import Value
from shield.facts.shell.braces import TooManyWordsError, braced
from shield.facts.shell.content import Shell, content, content_of
from shield.facts.shell.field import Fields
from shield.facts.shell.grammar.script import LITERAL, Part, PartKind, Word
from shield.facts.shell.lists import spreads
from shield.facts.shell.named import is_all
from shield.facts.shell.state import State
from shield.facts.shell.tilde import Mode, untilded
from shield.facts.shell.variables import Fresh, Hashes, Listed, Matching, Number, Secret, Token
from shield.regex import regex

__all__ = ["expand"]

_LIVELY = regex(r"[~*?\[\\{]")
_ACTIVE = regex(r"[ \t\n*?\[]")
_PLAIN = regex(r"[\w./:%,+@=-]+\Z", re.ASCII)
_ZERO = Token(form="0")  # any integer that is not negative
_DEFAULTS = frozenset((":-", "-"))
_KEEPING_EMPTY = frozenset(("", ":", "?", ":?", "#", "##", "%", "%%", "/", "//", "^", "^^", ",", ",,"))
# A list of unknown length and content.
_UNKNOWN_LIST: tuple[Value, ...] = (Value(text="$@", known=False, many=True),)


def expand(word: Word, state: State, shell: Shell) -> list[Value]:
    """The values of one word of a command, split and as patterns; there may be none."""
    if len(word) == 1 and word[0].kind is LITERAL and (word[0].quoted or not _LIVELY.search(word[0].text)):
        text_only = word[0].text
        return [Value(text=text_only, head=text_only)] if text_only or word[0].quoted else []
    try:
        words = braced(word)
    except TooManyWordsError:
        content_of(word, state, shell)
        return [Value(text=_source(word), known=False, many=True)]
    # what braces make of it looks like no assignment to bash: only a tilde in front counts
    mode = Mode.WORDS if words == [word] else Mode.WHOLE
    return [value for each in words for value in _expanded(each, state, shell, mode)]


def _expanded(word: Word, state: State, shell: Shell, mode: Mode) -> list[Value]:
    # dash splits the words of `$v$` and bash does not, if no other expansion follows
    lone = any(part.kind is LITERAL and not part.quoted and "$" in part.text for part in word)
    fields = Fields(globs=state.globs, splits=not lone)
    fields.source = _written(word)
    for index, part in enumerate(word):
        if part.kind is not LITERAL:
            _piece(part, state, shell, fields)
            continue
        if part.quoted:
            fields.put(part.text, quoted=True)
            continue
        text, pattern = untilded(word, index, part.text, state, mode)
        if text is None:
            fields.unknown(part.text, quoted=True, seen=part.text)
        else:
            fields.put(text, quoted=False, pattern=pattern)
    if fields.made:
        fields.source = _source(word)
    return fields.values()


def _hashes(found: Hashes, source: str, fields: Fields, *, quoted: bool) -> None:
    """Any number of hashes: words of their own, or one with newlines in it."""
    if quoted:
        fields.number(source, natural=True, quoted=True, maybe=found.maybe)
    else:
        fields.entries(Value(text=source, known=False, many=True, bare="", number=True, revision=True))


def _piece(part: Part, state: State, shell: Shell, fields: Fields) -> None:
    """One expansion within a word."""
    if part.kind is PartKind.PROCESS:
        shell.output(part, state)
        fields.pipe(part.text)
        return
    if _several(part, state, shell, fields):
        return
    found = content(part, state, shell)
    source = _source((part,))
    if isinstance(found, str):
        _text(found, part, state, fields)
    elif isinstance(found, Fresh) and (part.quoted or (state.split and not _ACTIVE.search(found.path))):
        fields.fresh(found, source, quoted=part.quoted)
    elif isinstance(found, Number) and not found.several and (state.split or part.quoted):
        fields.number(source, natural=found.natural, quoted=part.quoted, maybe=found.maybe, integer=True, seen=_ZERO)
    elif isinstance(found, Number) and found.natural and part.quoted:
        fields.number(source, natural=True, quoted=True, maybe=found.maybe)
    elif isinstance(found, Number) and found.natural and state.split:
        fields.entries(Value(text=source, known=False, many=True, numbers=True))
    elif isinstance(found, Hashes) and (part.quoted or state.split):
        _hashes(found, source, fields, quoted=part.quoted)
    elif isinstance(found, Token) and (part.quoted or (state.split and not found.blank)):
        fields.number(source, natural=True, quoted=part.quoted, maybe=found.maybe, seen=found)
    elif isinstance(found, Matching) and found.bases == state.bases and (part.quoted or (found.tame and state.split)):
        fields.value(found.value, quoted=True)
    elif isinstance(found, Secret):
        fields.unknown(found.source, quoted=part.quoted)
    elif found is None and not part.quoted and (entries := _entries(part, state, shell)) is not None:
        fields.entries(entries)
    elif found is None and _is_missing(part, state):
        fields.missing(source, quoted=part.quoted, listed=False)
    elif found is None and (otherwise := _otherwise(part, state, shell)) is not None:
        fields.missing(source, quoted=part.quoted, listed=False, otherwise=otherwise)
    else:
        fields.unknown(source, quoted=part.quoted)


def _several(part: Part, state: State, shell: Shell, fields: Fields) -> bool:
    """Whether the piece is one of those that may be several words in quotes, too: then it is added."""
    if _is_list(part):
        _list(part, state, fields)
        return True
    if not part.quoted or not spreads(part, state):
        return False
    content(part, state, shell)
    source, otherwise = _source((part,)), _otherwise(part, state, shell)
    if otherwise is not None or _is_missing(part, state):  # of what only the host can have set: perhaps none
        fields.missing(source, quoted=True, listed=True, otherwise=otherwise or "")
    else:
        fields.unknown(source, quoted=False)
    return True


def _text(found: str, part: Part, state: State, fields: Fields) -> None:
    if part.quoted or (state.split and "\\" not in found and not _shielded(part, found)):
        fields.expanded(found, quoted=part.quoted)
    elif found:
        fields.unknown(_source((part,)), quoted=False)


def _entries(part: Part, state: State, shell: Shell) -> Value | None:
    """Names that a substitution prints, or nothing: `wc -l $(find src)`."""
    found = shell.entry(part, state) if part.kind is PartKind.SUBSTITUTION else None
    return found.value._replace(many=True, unset=()) if isinstance(found, Matching) else None


def _shielded(part: Part, text: str) -> bool:
    """`${x:-"a b"}`: what is quoted in an operand is not split, though the whole is."""
    parameter = part.parameter
    if parameter is None or not _ACTIVE.search(text):
        return False
    return any(piece.quoted for word in parameter.words for piece in word)


def _is_missing(part: Part, state: State) -> bool:
    """A name that nothing is known to set, as it is or with an operation that leaves the empty text empty."""
    parameter = part.parameter
    if parameter is None:
        return part.kind is PartKind.VARIABLE and state.nothing_sets(part.text)
    keeps = parameter.operator in _KEEPING_EMPTY or (parameter.operator in _DEFAULTS and not any(parameter.words))
    plain = parameter.index is None and not parameter.indirect and keeps
    return plain and state.nothing_sets(parameter.name)


def _otherwise(part: Part, state: State, shell: Shell) -> str | None:
    """What `${x:-y}` stands for if `x` is not set, where nothing is known to set it: one word of known text."""
    parameter = part.parameter
    if parameter is None or parameter.operator not in _DEFAULTS or parameter.index is not None or parameter.indirect:
        return None
    word = parameter.words[0] if parameter.words else ()
    if not state.nothing_sets(parameter.name) or any(piece.kind is not LITERAL for piece in word):
        return None
    text = content_of(word, state, shell, Mode.WHOLE)
    return text if isinstance(text, str) and _PLAIN.match(text) else None


def _is_list(part: Part) -> bool:
    """`$@`, `$*`, `${a[@]}` and `${a[*]}`, without an operation."""
    if part.kind is PartKind.VARIABLE:
        return part.text in ("@", "*")
    parameter = part.parameter
    if parameter is None or parameter.operator or parameter.indirect:
        return False
    return parameter.name in ("@", "*") or is_all(parameter.index)


def _list(part: Part, state: State, fields: Fields) -> None:
    """`"$@"` and `"${a[@]}"`: a word for each; `"$*"`: all in one."""
    parameter = part.parameter
    values: tuple[Value, ...] | None
    if parameter is not None and parameter.index is not None:
        array = state.variables.get(parameter.name)
        values = tuple(Value(text=item, head=item) for item in array.items) if isinstance(array, Listed) else None
        star = parameter.index[0].text == "*"
    else:
        values = state.parameters()
        star = (parameter.name if parameter is not None else part.text) == "*"
    held = state.variables.get(parameter.name) if parameter is not None else None
    if isinstance(held, Secret):
        fields.unknown(held.source, quoted=False)
        return
    if values is None and state.nothing_sets(parameter.name if parameter is not None else part.text):
        fields.missing(part.text, quoted=part.quoted, listed=True)
        return
    if values is None or not (state.split or part.quoted) or (star and not all(value.fixed for value in values)):
        values, star = _UNKNOWN_LIST, False
    if star and part.quoted:
        if not state.split:
            fields.unknown(part.text, quoted=True)  # joined by what IFS begins with
        else:
            fields.expanded(" ".join(value.text for value in values), quoted=True)
        return
    for index, value in enumerate(values):
        if index:
            fields.end()
        fields.value(value, quoted=part.quoted)


def _written(word: Word) -> str | None:
    first = word[0] if word else None
    tilde = first is not None and first.kind is LITERAL and not first.quoted and first.text.startswith("~")
    return _source(word) if tilde else None


def _source(word: Word) -> str:
    return "".join(
        ("${%s}" if len(part.text) > 1 else "$%s") % part.text if part.kind is PartKind.VARIABLE else part.text
        for part in word
    )
