"""Many conditions as one function: the same answers as one by one, whatever fails."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cel_rules
from cel_world import SCHEMA, Action, Path, env
from shield.policy.cel import DYN, STRING, CelError, Condition, Field, Object, Schema, compile_condition, group

SOURCES = [
    "paths.exists(p, p.inside)", "paths.exists(p, has(p.resolved) && p.resolved.matches('a.c'))", "1 / size(paths) == 1", "payload.path == 'x'",
    "payload.path.startsWith('y')", "has(payload.extra) && payload.extra == 1", "has(payload.extra) && payload.extra", "action.type in lists.readers",
    "action.type == 'K0'", "size(payload.path + 'K0_0') > 3", "operations.exists(o, o == 'read')", "'K1_0' in paths.map(p, p.raw)", "true", "false",
    "has(payload.lines) && payload.lines.exists(l, l > 3)", "lists.none.exists(n, n == 'a')", "paths.all(p, p.access == 'read')",
]  # fmt: skip


def one_by_one(conditions: list[Condition], values: tuple[object, ...]) -> tuple[list[int], list[int]]:
    matched, failed = [], []
    for index, condition in enumerate(conditions):
        try:
            if condition.test(values):
                matched.append(index)
        except CelError:
            failed.append(index)
    return matched, failed


WORLDS = st.builds(
    lambda paths, payload, kind, operations: env(paths=paths, payload=payload, action=Action(type=kind), operations=operations),
    st.lists(st.builds(Path, raw=st.sampled_from(["x", "K1_0"]), resolved=st.sampled_from([None, "abc"]), inside=st.booleans()), max_size=2),
    st.fixed_dictionaries({}, optional={"path": st.sampled_from(["x", "y", 1, None]), "extra": st.sampled_from([1, 1.0, True, "a", None]),
                                        "lines": st.sampled_from([[1, 4], [], ["a"], 4])}),
    st.sampled_from(["cat", "K0", "x"]),
    st.frozensets(st.sampled_from(["read", "write"])),
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(SOURCES), max_size=8), WORLDS)
def test_a_group_answers_as_its_members(sources: list[str], values: tuple[object, ...]) -> None:
    conditions = [compiled(source) for source in sources]
    together = group(conditions)
    # `run` is the generated function: a fault in it would hide behind the slower way that takes over from it
    assert together.run(values) == together(values) == one_by_one(conditions, values)


_KNOWN: dict[str, Condition] = {}


def compiled(source: str) -> Condition:
    if source not in _KNOWN:
        _KNOWN[source] = compile_condition(source, SCHEMA)
    return _KNOWN[source]


def test_a_group_survives_what_no_member_foresaw() -> None:
    """Facts that break their declaration: nothing raises, and nothing that failed counts as a match or as no match."""
    conditions = [compiled("paths.exists(p, p.inside)"), compiled("true"), compiled("paths.all(p, p.inside)")]
    broken = env(paths=(Path(), object()))
    assert group(conditions)(broken) == ([0, 1], [2])
    assert group(conditions)(()) == ([1], [0, 2])
    assert group(conditions)(env(paths=None)) == ([1], [0, 2])


def test_an_empty_group_matches_nothing() -> None:
    assert group([])(env()) == ([], [])


def test_roots_must_stand_at_one_place() -> None:
    one = compile_condition("a == 'x'", Schema(roots={"a": STRING, "b": STRING}))
    other = compile_condition("b == 'x'", Schema(roots={"b": STRING, "a": STRING}))
    with pytest.raises(ValueError, match="same roots"):
        group([one, other])
    longer = compile_condition("c == 'x'", Schema(roots={"a": STRING, "b": STRING, "c": DYN}))
    assert group([one, longer])(("x", "y", "x")) == ([0, 1], [])


def test_benchmark_rules_load_and_find_nothing() -> None:
    conditions = [compile_condition(text, cel_rules.schema()) for text in cel_rules.rules(60)]
    for kind in cel_rules.TYPES:
        assert group(conditions)(cel_rules.action(kind)) == ([], [])
    hostile = cel_rules.Action(type="shell.exec", path="/etc/d1/x", count=1, tags=("secret20x",))
    matched, failed = group(conditions)((hostile, {"command": "word0 -rf"}))
    assert matched == [0, 20]
    assert failed == []


TYPES = {
    "action.type == 'a'": {"a"},
    "'a' == action.type": {"a"},
    "action.type in ['a', 'b'] && paths.exists(p, p.inside)": {"a", "b"},
    "action.type in ['a', 'b'] && action.type == 'b'": {"b"},
    "action.type == 'a' && action.type == 'b'": set(),
    "action.type in lists.readers": {"cat", "head"},
    "action.type == 'a' || action.type == 'b'": {"a", "b"},
    "action.type == 'a' || true": None,
    "!(action.type == 'a')": None,
    "action.type != 'a'": None,
    "paths.exists(p, action.type == 'a')": None,
    "action.type == 'a' ? true : false": None,
    "action.type == payload.path": None,
    "action.type.startsWith('a')": None,
    "has(action.server) && action.server == 'a'": None,
    "true": None,
}


@pytest.mark.parametrize("source", TYPES)
def test_action_types_that_a_condition_can_hold_for(source: str) -> None:
    want = TYPES[source]
    assert compile_condition(source, SCHEMA).types == (None if want is None else frozenset(want))


@pytest.mark.parametrize("source", [source for source, want in TYPES.items() if want is not None])
def test_for_every_other_type_it_is_false_even_where_the_rest_fails(source: str) -> None:
    condition = compile_condition(f"1 / size(counts) == 1 && ({source})", SCHEMA)
    assert condition.types == compile_condition(source, SCHEMA).types
    assert condition.test(env(action=Action(type="zzz"))) is False


def test_types_of_an_action_that_is_something_else_are_not_taken() -> None:
    schema = Schema(roots={"action": Object("x", {"type": Field(STRING)}), "lists": DYN})
    assert compile_condition("action.type in lists.x", schema, policy=False).types is None
    assert compile_condition("true", SCHEMA).roots == frozenset()
    assert compile_condition("payload.path == 'x' && size(paths) == 1", SCHEMA).roots == {"payload", "paths"}


def test_a_root_without_a_value_is_refused() -> None:
    with pytest.raises(ValueError, match="no value for `payload`"):
        SCHEMA.bind({"action": Action()})
