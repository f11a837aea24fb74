"""A condition answers True, False or CelError: nothing else, at any depth, and never with a value in the message."""

import threading
from enum import StrEnum
from functools import cache
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cel_world import SCHEMA, env
from shield.policy.cel import (
    DYN,
    INT,
    STRING,
    CelError,
    Condition,
    ListOf,
    Schema,
    compile_condition,
    compile_expression,
    group,
)
from shield.policy.cel.functions import NAMESPACE

SECRET = "hunter2-do-not-print"
LEAKS = [
    "payload.path.contains('h') && counts[payload.path] == 1",
    "int(payload.path) == 1",
    "double(payload.path) == 1.0",
    "timestamp(payload.path) < now",
    "duration(payload.path) < duration('1s')",
    "bool(payload.path)",
    "payload.path.charAt(99) == 'x'",
    "payload.path.substring(0, 99) == 'x'",
    "{payload.path: 1}['other'] == 1",
    "{payload.path: 1, payload.path + '': 2}.size() == 1",
    "[payload.path].exists(x, int(x) == 1)",
    "string(bytes(payload.path)).substring(0, 999) == 'x'",
    "has(payload.extra) && payload.extra + 1 == 2",
    "has(payload.extra) && payload.extra",
    "has(payload.extra) && payload.extra.startsWith(payload.path)",
]


@pytest.mark.parametrize("source", LEAKS)
def test_messages_hold_no_values(source: str) -> None:
    condition = compile_condition(source, SCHEMA, policy=False)
    with pytest.raises(CelError) as caught:
        condition.test(env(payload={"path": SECRET, "extra": [SECRET]}))
    error: BaseException | None = caught.value
    seen = 0
    while error is not None:
        assert SECRET not in f"{error}{error!r}{error.args}"
        error = error.__cause__ or error.__context__
        seen += 1
    assert seen == 1, "an error that hangs on another may carry its values"


class Odd(StrEnum):
    X = "x"


def deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


HOSTILE: list[object] = [
    None, True, 0, -1, 2**63, 2**64, 10**400, -(10**400), 1.5, float("nan"), float("inf"), "", "a\x00b", "a\ud800", "x" * 100_000,
    b"a", [], {}, [[]], {"a": {"a": {}}}, {1: 2}, {True: 1}, deep(5000), (1, 2), {1, 2}, frozenset("a"), object(), Odd.X,
    MappingProxyType({"a": 1}), type, len, Exception("x"), {"a": deep(2000)},
]  # fmt: skip
ASKED = [
    "x == x", "x == 'a'", "x == 1", "x == 1.5", "x == null", "x == [1]", "x == {'a': 1}", "x < 1", "x < 'a'", "x in [1, 'a']", "'a' in x",
    "1 in x", "x in x", "x", "!x", "x && true", "x || false", "x ? true : false", "x.a == 1", "has(x.a)", "x['a'] == 1", "x[0] == 1",
    "x[x] == 1", "x.contains('a')", "x.startsWith(x)", "x.matches('a+b')", "x.matches('^a')", "x.size() == 1", "size(x) == 1", "x + x == x",
    "x - x == x", "x * x == x", "x / x == 1", "x % x == 0", "-x == x", "int(x) == 1", "double(x) == 1.0", "string(x) == 'a'",
    "bytes(x) == b'a'", "bool(x)", "timestamp(x) == timestamp(0)", "duration(x) == duration('1s')", "type(x) == int", "x.exists(y, y == 1)",
    "x.all(y, y != 1)", "x.exists_one(y, y == y)", "x.map(y, y + y) == []", "x.filter(y, y).size() == 0", "x.lowerAscii() == 'a'",
    "x.split(x) == []", "x.replace(x, x) == x", "x.join(x) == x", "x.substring(x) == x", "x.indexOf(x) == 0", "x.trim() == x",
    "x.getHours() == 1", "x.getHours('UTC') == 1", "x.getMonth() == 1", "{'k': x} == {'k': x}", "[x] == [x]", "x.exists(y, x.exists(z, z == y))",
]  # fmt: skip


@pytest.mark.parametrize("source", ASKED)
def test_hostile_values_give_a_bool_or_an_error(source: str) -> None:
    condition = compile_condition(source, Schema(roots={"x": DYN}), policy=False)
    for value in HOSTILE:
        try:
            assert condition.test((value,)) in (True, False)
        except CelError as error:
            assert "internal" not in error.detail, type(value)  # noqa: PT017  # either outcome is right


@settings(max_examples=150, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
        max_leaves=6,
    )
)
def test_any_value_gives_a_bool_or_an_error(value: object) -> None:
    for source in ASKED:
        condition = asked(source)
        try:
            answer: object = condition.test((value,))
        except CelError:
            answer = "error"
        try:
            fast: object = condition.expression.fast((value,))
        except Exception:  # noqa: BLE001  # the fast text may raise anything
            continue
        assert fast is answer, "where the fast text answers, the exact one and the whole agree"
        assert condition.expression.answer((value,)) is fast


@cache
def asked(source: str) -> Condition:
    return compile_condition(source, Schema(roots={"x": DYN}), policy=False)


@pytest.mark.parametrize(
    "source",
    [
        "['aaaaaaaaaa']" + ".map(s, s + s)" * 28 + ".size() > 0",
        "x" + ".map(s, s + s)" * 28 + " == []",
        "x.all(a, x.all(b, a == b))",
        "x.all(a, a in x)",
        "x.all(a, x == x)",
        "x.all(a, x.filter(b, b != a) == [])",
        "x.map(a, x).map(b, b + b) == []",
        "['a'].map(s, s.replace('', '0123456789012345678901234567890123456789'))" + ".map(s, s.replace('', s))" * 3 + " == []",
        "[''].map(s, x.map(t, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').join(s + 'b'))" + ".map(s, s + s)" * 25 + " == []",
        "(x" + " + x" * 10 + ").map(s, [s])" + ".map(s, s + s)" * 16 + " == []",
    ],
)  # fmt: skip
def test_work_is_bounded(source: str) -> None:
    condition = compile_condition(source, Schema(roots={"x": DYN}), policy=False)
    for value in (["a"] * 10_000, [["a"] * 100] * 10_000):
        with pytest.raises(CelError):
            condition.test((value,))


@pytest.mark.parametrize(
    "source",
    [
        "lines.all(l, path.contains('ab'))",
        "lines.all(l, path.matches('x[ab]+$'))",
        "lines.all(l, path.lowerAscii() != 'b')",
        "lines.all(l, path == other)",
        "lines.map(l, path).all(p, p.contains('ab'))",
        "lines.map(l, [path]).all(p, p == p)",
        "lines.all(l, [1, 2].all(m, path.indexOf('ab') != 1))",
    ],
)
def test_long_texts_are_not_searched_without_end(source: str) -> None:
    schema = Schema(roots={"path": STRING, "other": STRING, "lines": ListOf(INT)})
    condition = compile_condition(source, schema)
    text = "x" * 1_000_000 + "ab"
    values = (text, "".join([text[:9], text[9:]]), tuple(range(10_000)))
    with pytest.raises(CelError):
        condition.test(values)


def test_a_budget_is_for_one_evaluation() -> None:
    condition = compile_condition("x.all(a, x.all(b, a == b))", Schema(roots={"x": DYN}), policy=False)
    together = group([condition, condition])
    for _ in range(3):
        assert condition.test((["a"] * 300,))
        assert together((["a"] * 300,)) == ([0, 1], [])


def test_generated_code_reaches_nothing_else() -> None:
    assert dict(NAMESPACE["__builtins__"]) == {}  # type: ignore[call-overload]  # a mapping
    made = compile_condition("paths.exists(p, p.raw.matches('a+b') && p.inside)", SCHEMA)
    names = set(made.expression.fast.__globals__) - set(NAMESPACE)  # type: ignore[attr-defined]  # a generated function
    assert names == {"fast", "exact", "K0"}
    for name in NAMESPACE:
        assert not name.startswith(("r_", "l_", "K", "C")), "names made by the translation must not meet these"


def test_text_of_a_condition_reaches_python_only_as_literals() -> None:
    word = "zzqx"
    source = f"paths.exists({word}, {word}.raw == '{word}\\'\\n\\u00e9' && {{'{word}': 1}} == {{'{{0}}': 2}})"
    expression = compile_expression(source, SCHEMA)
    for text in (expression.code.fast, expression.code.exact):
        assert text.replace(ascii(f"{word}'\né"), "").replace(ascii(word), "").count(word) == 0


def test_threads_share_one_condition() -> None:
    condition = compile_condition(
        "action.kind == 'safe' && action.n < 10 || action.n / 0 == 1", Schema(roots={"action": DYN}), policy=False
    )
    wrong: list[object] = []

    def ask(action: dict[str, object], want: object) -> None:
        for _ in range(3000):
            try:
                got: object = condition.test((action,))
            except CelError:
                got = "error"
            if got != want:
                wrong.append(got)

    cases = [({"kind": "safe", "n": 1}, True), ({"kind": "evil", "n": 1}, "error")]
    threads = [threading.Thread(target=ask, args=case) for case in cases * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
