"""What is refused when a condition is loaded: where, why, and what to write instead."""

import sys
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cel_world import SCHEMA, env
from shield.errors import PolicyError
from shield.policy.cel import (
    DYN,
    CelError,
    CelLoadError,
    Position,
    Schema,
    compile_condition,
    compile_expression,
    group,
)

REFUSED = [
    # text, column, part of the message, suggestion
    ("pathes.exists(p, true)", 1, "unknown name `pathes`", "paths"),
    ("paths.exists(p, p.acces == 'read')", 19, "unknown field `acces` of `path`", "access"),
    ("paths.exists(p, p.access = 'read')", 26, "unexpected character '=': write `==`", None),
    ("paths.exists(p, p.zzz == 'read')", 19, "unknown field `zzz` of `path`; it has `access`, ", None),
    ("paths.exists(p, q.raw == 'x')", 17, "unknown name `q`", None),
    ("action.type in lists.readrs", 22, "unknown list `readrs`", "readers"),
    ("paths.exists(p, p.access == 'reed')", 17, "`reed` is never a value", "read"),
    ("paths.exists(p, p.access in ['read', 'wrote'])", 29, "`wrote` is never", "write"),
    ("'wrote' in operations", 1, "`wrote` is never", "write"),
    ("operations.exists(o, o == 'rite')", 22, "`rite` is never", "write"),
    ("action.type.startWith('x')", 13, "unknown function `.startWith()`", "startsWith"),
    ("siz(paths) > 0", 1, "unknown function `siz()`", "size"),
    ("action.type.startsWith('x', 'y')", 13, "takes 1 argument", None),
    ("paths[0].inside", 1, "`.exists(x", None),
    ("has(payload.extra) && payload.extra[0] == 1", 23, "`.exists(x", None),
    ("payload.command == 'x'", 9, "may be absent", None),
    ("has(payload.extra) && payload.extra.x == 1", 37, "may be absent", None),
    ("paths.exists(p, p.resolved == 'x')", 19, "may be absent", None),
    ("counts['x'] > 1", 1, "may be absent", None),
    ("action.server == null", 8, "may be absent", None),
    ("action.type == null", 1, "has()", None),
    ("action.type == 3", 1, "never equal", None),
    ("action.type < 3", 1, "no `<` for string and int", None),
    ("action.type && true", 8, "expected bool", None),
    ("action.type", 1, "a condition is a bool", None),
    ("1 + 1", 1, "a condition is a bool", None),
    ("paths == paths", 1, "cannot be used as a value", None),
    ("operations == ['read']", 1, "cannot be used as a value", None),
    ("[paths.map(p, p)] == []", 8, "cannot be used as a value", None),
    ("dyn(payload) == 1", 5, "cannot be used as a value", None),
    ("payload.exists(k, k == 'x')", 9, "needs a list, set or map", None),
    ("operations[0] == 'read'", 1, "`.exists(x", None),
    ("action.type.matches('(')", 21, "RE2", None),
    ("action.type.matches(action.type)", 28, "compiled at load", None),
    ("now.getHours('Mars/Base') == 1", 14, "unknown time zone", None),
    ("now.getHours(action.type) == 1", 21, "must be written as a string", None),
    ("now.getHours('../../etc/passwd') == 1", 14, "unknown time zone", None),
    ("action.type == 'a' b", 20, "two values side by side", None),
    ("action.type == \"a", 16, "never closed", None),
    ("(action.type == 'a'", 1, "never closed", None),
    ("action.type == 'a')", 19, "closes nothing", None),
    ("action.type == '\\q'", 16, "unknown escape", None),
    ("action.type == '\\ud800'", 16, "no character", None),
    ("action.type ==", 15, "a value is expected, not the end", None),
    ("action..type == 'a'", 8, "syntax error", None),
    ("", 1, "empty", None),
    ("  // nothing", 1, "empty", None),
    ("true ? 1 : 'a'", 1, "differ", None),
    ("1u == 1u", 1, "unsigned", None),
    ("9223372036854775808 > 0", 1, "64 bits", None),
    ("1e999 > 0.0", 1, "double", None),
    ("Thing{a: 1} == Thing{a: 1}", 1, "not supported", None),
    ("action.`type` == 'a'", 8, "backticks", None),
    ("action.true == 'a'", 8, "keyword", None),
    ("while == 'a'", 1, "reserved word", None),
    ("paths.exists(if, true)", 14, "reserved word", None),
    ("paths.exists(__p, true)", 14, "name of a variable", None),
    ("paths.exists(1, true)", 14, "name of a variable", None),
    ("paths.exists(a, paths.exists(b, paths.exists(c, true)))", 39, "inside one another", None),
    ("action.__class__ == 'a'", 8, "unknown field `__class__`", None),
    ("action.type.__len__() == 1", 13, "unknown function", None),
    ("__import__('os') == 1", 1, "unknown function", None),
    ("r_0.type == 'a'", 1, "unknown name `r_0`", None),
    ("K0 == 1", 1, "unknown name `K0`", None),
    ("action.type == '\ue0000\ue001' ? K0 == 1 : true", 24, "unknown name `K0`", None),
]  # fmt: skip


@pytest.mark.parametrize(("source", "column", "part", "suggestion"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused_with_place_and_advice(source: str, column: int, part: str, suggestion: str | None) -> None:
    with pytest.raises(CelLoadError) as caught:
        compile_condition(source, SCHEMA)
    error = caught.value
    assert isinstance(error, PolicyError)
    assert part in error.detail
    assert (error.line, error.column) == (1, column)
    assert error.suggestion == suggestion
    if suggestion is not None:
        assert f"did you mean `{suggestion}`?" in error.detail


def test_positions_are_those_of_the_file() -> None:
    origin = Position(line=12, column=11, indent=6)
    with pytest.raises(CelLoadError) as first:
        compile_condition("nope == 1", SCHEMA, origin=origin)
    assert (first.value.line, first.value.column) == (12, 11)
    with pytest.raises(CelLoadError) as later:
        compile_condition('action.type == """a\nb""" ||\n  nope == 1', SCHEMA, origin=origin)
    assert (later.value.line, later.value.column) == (14, 9)


SIZES = {
    "brackets": "(" * 33 + "true" + ")" * 33,
    "many brackets": "(" * 4000 + "true" + ")" * 4000,
    "not": "!" * 1000 + "true",
    "minus": "-" * 1000 + "action.count > 0",
    "list": "[" * 200 + "]" * 200 + " == 1",
    "long": " || ".join(f"action.a == {i}" for i in range(20000)),
    "wide": "||".join(["a.b"] * 2000),
    "plus": "+".join(["1"] * 2000) + " == 1",
    "dots": "action" + ".a" * 1000,
    "choice": "true ? 1 : " * 500 + "2 == 2",
    "nested": "".join(f"[1,2,3].all(v{i}," for i in range(8)) + "v0 > 0" + ")" * 8,
    "macros": " || ".join(f"action.exists(v{i}, v{i} == 1)" for i in range(33)),
    "pattern": f"action.matches('{'a' * 3000}')",
    "repeats": "action.matches('((a{100}){100}){100}')",
    "quotes": "'" * 8000,
    "escapes": "'" + "\\" * 7999,
    "comment": "//" * 4000,
    "matches in matches": "string(" * 16 + "action" + ".matches('abc.d'))" * 16 + ".matches('abc.d')",
}


@pytest.mark.parametrize("name", SIZES)
def test_hostile_text_is_refused_or_bounded(name: str) -> None:
    limit = sys.getrecursionlimit()
    start = time.process_time()
    try:
        condition = compile_condition(SIZES[name], Schema(roots={"action": DYN, "a": DYN}), policy=False)
    except CelLoadError:
        pass
    else:
        assert len(condition.expression.code.fast) < 100_000
        with pytest.raises(CelError):
            condition.test(({"a": -1}, 1))
    assert time.process_time() - start < 20, "a bound that only an endless computation passes"
    assert sys.getrecursionlimit() == limit


def test_a_long_chain_of_alternatives_is_taken() -> None:
    text = " || ".join(f"action.type == 'x{i}'" for i in range(250))
    condition = compile_condition(text, SCHEMA)
    assert not condition.test(env())
    assert condition.types == frozenset(f"x{i}" for i in range(250))


@given(st.text(max_size=60) | st.lists(st.sampled_from(
    ["paths", "payload", ".", "exists", "(", ")", "p", ",", "'a'", '"', "'''", "\\", "==", "&&", "||", "!", "?", ":", "[", "]", "{", "}",
     "in", "1", "-", "0x", "1.", "e5", "//", "\n", "has", "true", "null", "b", "r", "`", "\x00", "é", "\ud800", "%", " "]), max_size=14
).map("".join))  # fmt: skip
def test_nothing_but_a_load_error_escapes(text: str) -> None:
    try:
        compile_expression(text, SCHEMA)
    except CelLoadError as error:
        found = error
    else:
        return
    assert found.line is not None
    assert found.column is not None
    assert min(found.line, found.column) >= 1


def test_python_compiles_a_proven_condition_when_it_is_asked_by_itself() -> None:
    source = "paths.exists(p, p.access == 'read')"
    known, unknown = (compile_condition(source, SCHEMA, proven=proven) for proven in (True, False))
    assert "_functions" in vars(unknown.expression), "a condition of somebody's own is refused when it is loaded"
    assert group([known])(env()) == group([unknown])(env())
    assert "_functions" not in vars(known.expression), "a group has one function for all of its conditions"
    assert known.test(env()) is unknown.test(env())
    assert "_functions" in vars(known.expression)


def test_a_condition_that_python_cannot_compile_has_no_answer() -> None:
    """Its rule counts as one that could not be evaluated: the person decides where it protects, and it allows nothing."""
    known = compile_condition("action.type == 'x'", SCHEMA, proven=True)
    deep = "(" * 300 + "True" + ")" * 300
    code = replace(known.expression.code, fast=deep, exact=deep)
    known = replace(known, expression=replace(known.expression, code=code))
    assert not known.expression.compiles
    with pytest.raises(CelError, match="too deeply nested"):
        known.test(env())
    assert group([known])(env()) == ([], [0])
