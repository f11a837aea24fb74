"""`[[ … ]]` and `test`: which files they look at, and what in them is evaluated (bash(1) CONDITIONAL EXPRESSIONS)."""

from collections.abc import Sequence

from shield.facts.programs.invocation import Invocation
from shield.facts.programs.reading import Reading, Value
from shield.facts.shell.content import Shell, calculated, content_of, pattern_of
from shield.facts.shell.grammar.script import Condition, PartKind, Word
from shield.facts.shell.named import is_plain, secret_in
from shield.facts.shell.state import State
from shield.facts.shell.tilde import Mode
from shield.facts.shell.variables import Fresh, Matching, Number
from shield.regex import regex
from shield.types import Access

__all__ = ["read_condition", "read_test"]

_FILE = regex(r"-[a-hkprsuwxGLNOS]\Z")
_FILES = frozenset(("-ef", "-nt", "-ot"))
_NUMERIC = frozenset(("-eq", "-ne", "-lt", "-le", "-gt", "-ge"))
_UNARY = regex(r"-[a-hknoprstuvwxzGLNORS]\Z")
_BINARY = frozenset(("=", "==", "!=", "<", ">", "=~")) | _FILES | _NUMERIC
_ORDERING = frozenset(("<", ">", "=~"))
_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def read_condition(condition: Condition, state: State, shell: Shell) -> Reading:
    """What `[[ … ]]` looks at. Arithmetic in it, and a subscript, are evaluated, commands and all."""
    reading = Reading()
    _condition(condition, state, shell, reading)
    return reading


def _condition(condition: Condition, state: State, shell: Shell, reading: Reading) -> None:
    operator, words = condition.operator, condition.words
    for index, inner in enumerate(condition.conditions):
        before = state.copy() if index else state
        _condition(inner, state, shell, reading)
        state.perhaps(before)  # what the first one settles, the others are not asked
    if operator in _NUMERIC:
        for word in words:
            calculated(word, state, shell)
    elif operator in ("-v", "-R"):
        for word in words:
            name = content_of(word, state, shell, Mode.WHOLE)
            if not isinstance(name, str) or not _NAME.match(name):
                state.doubt("a subscript is evaluated")
    elif operator in _FILES or _FILE.match(operator):
        for word in words:
            reading.path(_value(word, state, shell), Access.LIST)
    else:
        for index, word in enumerate(words):
            if index == 1:
                pattern_of(word, state, shell)
            else:
                content_of(word, state, shell, Mode.WHOLE)
        if len(words) == 2 and secret_in(words[0], state) and (operator in _ORDERING or not is_plain(words[1])):
            state.doubt("a secret is compared with what it may be like")
        if operator == "=~":
            shell.assign("BASH_REMATCH", None, state)


def _value(word: Word, state: State, shell: Shell) -> Value:
    found = content_of(word, state, shell, Mode.WHOLE)
    if isinstance(found, str):
        return Value(text=found, head=found)
    if isinstance(found, Fresh):
        shown = "".join(f"${part.text}" if part.kind is PartKind.VARIABLE else part.text for part in word)
        return Value(text=found.path, head=found.path, source=shown, fresh=found.chance)
    if isinstance(found, Matching) and found.bases == state.bases:
        return found.value
    return Value(text="".join(part.text for part in word), known=False, number=isinstance(found, Number))


def read_test(call: Invocation) -> bool:
    """`test` and `[`: told by the number of words, as POSIX has it. `-v` and `-R` evaluate a subscript."""
    words = list(call.words)
    if call.name == "[" and words and words[-1].fixed and words[-1].text == "]":
        words.pop()
    if any(word.many for word in words):
        # more words than stand here, an operator among them for all that is known
        call.reading.code = call.reading.loose = True
    _test(words, call.reading)
    return True


def _test(words: Sequence[Value], reading: Reading) -> None:
    first = words[0] if words else None
    if first is None or len(words) == 1:
        return
    if len(words) >= 3 and _is(words[1], _BINARY):
        if words[1].text in _FILES:
            reading.path(words[0], Access.LIST)
            reading.path(words[2], Access.LIST)
        _rest(words[3:], reading)
    elif _is(first, frozenset(("!", "("))):
        _test(words[1:], reading)
    elif len(words) == 2 or (first.fixed and _UNARY.match(first.text)):
        _unary(first, words[1], reading)
        _rest(words[2:], reading)
    else:
        _rest(words[1:], reading)


def _rest(words: Sequence[Value], reading: Reading) -> None:
    """Behind a condition: `-a`, `-o` or `)`, and the next."""
    if words:
        _test(words[1:] if _is(words[0], frozenset(("-a", "-o", ")"))) else words, reading)


def _unary(operator: Value, operand: Value, reading: Reading) -> None:
    if not operator.fixed:
        if operator.adrift and not (operand.fixed and _NAME.match(operand.text)):
            reading.code = True  # `-v`, for all that is known
        if operator.adrift:
            reading.path(operand, Access.LIST)
    elif operator.text in ("-v", "-R"):
        reading.code |= not (operand.fixed and _NAME.match(operand.text))
    elif _FILE.match(operator.text):
        reading.path(operand, Access.LIST)


def _is(word: Value, texts: frozenset[str]) -> bool:
    return word.fixed and word.text in texts
