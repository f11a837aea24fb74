"""Fields that may be absent: read only where has() of the same path was true on every way there."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cel_world import SCHEMA, Access, Action, Path, env
from shield.policy.cel import CelError, CelLoadError, compile_condition

GUARDED = [
    "paths.exists(p, has(p.resolved) && p.resolved == 'x')",
    "paths.exists(p, !has(p.resolved) || p.resolved == 'x')",
    "paths.all(p, has(p.resolved) ? p.resolved == 'x' : p.raw == 'x')",
    "paths.all(p, !has(p.resolved) ? false : p.resolved == 'x')",
    "paths.exists(p, (has(p.resolved) && p.inside) && (p.raw == 'y' || p.resolved == 'x'))",
    "paths.exists(p, !(!has(p.resolved) || p.inside) && p.resolved == 'x')",
    "paths.exists(p, !has(p.resolved) || p.inside || p.resolved == 'x')",
    "has(action.server) && paths.exists(p, p.raw == action.server)",
    "has(payload.command) && payload.command.contains('x')",
    "'command' in payload && payload.command.contains('x')",
    "has(payload.command) && payload['command'] == 'x'",
    "has(payload.extra) && has(payload.extra.a) && has(payload.extra.a.b) && payload.extra.a.b == 1",
    "has(payload.extra) && 'a-b' in payload.extra && payload.extra['a-b'] == 1",
    "'x' in counts && counts['x'] > 1",
    "has(counts.x) && counts.x > 1",
    "paths.map(p, has(p.resolved), p.resolved).exists(r, r == 'x')",
    "(has(action.server) || has(action.server)) && action.server == 'x'",
    "(has(action.server) ? action.server == 'x' : has(action.server)) && action.server == 'x'",
    "has(action.server) && paths.exists(action, action.raw == 'x')",
    "paths.exists(p, !(has(p.resolved) && p.inside) || p.inside && !has(p.resolved) || p.resolved == 'x')",
]
UNGUARDED = [
    "paths.exists(p, p.resolved == 'x' && has(p.resolved))",
    "paths.exists(p, has(p.resolved) || p.resolved == 'x')",
    "paths.exists(p, !has(p.resolved) && p.resolved == 'x')",
    "paths.exists(p, has(p.resolved) ? p.inside : p.resolved == 'x')",
    "paths.exists(p, (has(p.resolved) || p.inside) && p.resolved == 'x')",
    "paths.exists(p, has(p.resolved)) && paths.exists(p, p.resolved == 'x')",
    "paths.exists(p, paths.exists(q, has(q.resolved)) && p.resolved == 'x')",
    "paths.exists(p, has(p.resolved) && paths.exists(p, p.resolved == 'x'))",
    "paths.filter(p, has(p.resolved)).exists(p, p.resolved == 'x')",
    "paths.map(p, !has(p.resolved), p.resolved) == ['x']",
    "has(payload.command) == true && payload.command == 'x'",
    "has(payload.command) != false && payload.command == 'x'",
    "(true ? has(payload.command) : true) && payload.command == 'x'",
    "has(payload.extra.a) && payload.extra.a == 1",
    "has(payload.extra) && payload.extra.a == 1",
    "has(payload.extra) && has(payload.extra.a) && payload.extra.a.b == 1",
    "has(payload.extra) && dyn(payload.extra).a == 1",
    "'y' in counts && counts['x'] > 1",
    "has(action.server) && paths.exists(action, action.resolved == 'x')",
    "size(payload.command) > 0",
    "payload.command.matches('x')",
    "paths.exists(p, p.resolved in lists.readers)",
    "[action.server] == ['x']",
    "{'a': action.server} == {'a': 'x'}",
    "!(has(action.server) || action.type == 'x') && action.server == 'x'",
]


@pytest.mark.parametrize("source", GUARDED)
def test_guarded_reads_load_and_answer_without_the_field(source: str) -> None:
    condition = compile_condition(source, SCHEMA)
    assert condition.test(env(paths=(Path(),))) in (True, False)
    assert condition.test(env()) in (True, False)


@pytest.mark.parametrize("source", UNGUARDED)
def test_unguarded_reads_are_refused(source: str) -> None:
    with pytest.raises(CelLoadError, match="may be absent"):
        compile_condition(source, SCHEMA)


LEAVES = st.sampled_from(
    ["has(p.resolved)", "p.resolved == 'x'", "p.inside", "has(action.server)", "action.server == 'x'", "p.raw == action.server",
     "has(payload.command)", "payload.command == 'x'", "'k' in counts", "counts.k == 1", "true", "false"]
)  # fmt: skip
CONDITIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda two: f"({two[0]} && {two[1]})"),
        st.tuples(inner, inner).map(lambda two: f"({two[0]} || {two[1]})"),
        st.tuples(inner, inner, inner).map(lambda three: f"({three[0]} ? {three[1]} : {three[2]})"),
        inner.map(lambda one: f"!({one})"),
        inner.map(lambda one: f"paths.exists(p, {one})"),
        inner.map(lambda one: f"paths.exists(q, {one})"),
        inner.map(lambda one: f"(size(paths.filter(p, {one})) == 1)"),
    ),
    max_leaves=8,
)
ENVS = st.builds(
    lambda paths, server, command, count: env(
        paths=tuple(paths),
        action=Action(server=server),
        payload={"path": "x", **({"command": command} if command is not None else {})},
        counts={"k": count} if count else {},
    ),
    st.lists(
        st.builds(Path, raw=st.sampled_from("xy"), resolved=st.sampled_from([None, "x"]), inside=st.booleans()),
        max_size=3,
    ),
    st.sampled_from([None, "x", "y"]),
    st.sampled_from([None, "x", "y"]),
    st.integers(0, 2),
)


@settings(max_examples=400, deadline=None)
@given(CONDITIONS, st.lists(ENVS, min_size=3, max_size=6))
def test_what_loads_never_reads_an_absent_field(body: str, worlds: list[tuple[object, ...]]) -> None:
    """The law of the check: these conditions can fail in no other way, so one that loads always has an answer."""
    try:
        condition = compile_condition(f"paths.exists(p, {body})", SCHEMA)
    except CelLoadError:
        return
    for world in worlds:
        assert condition.expression.fast(world) == condition.expression.answer(world) == condition.test(world)


def test_after_a_failed_guard_an_absent_field_is_an_error_and_not_null() -> None:
    """`&&` goes on after an error, so its right side may run although the guard on its left never came out true."""
    source = "paths.exists(p, (1 / size(counts) == 1 ? has(p.resolved) : has(p.resolved)) && p.resolved == 'y')"
    condition = compile_condition(source, SCHEMA)
    with pytest.raises(CelError):
        condition.test(env(paths=(Path(),)))
    assert condition.test(env(paths=(Path(resolved="y"),), counts={"a": 1}))


def test_members_of_enums_are_their_strings() -> None:
    for source, want in {
        "paths.exists(p, p.access == 'write')": True,
        "paths.exists(p, p.access in ['write'])": True,
        "paths.exists(p, p.access.startsWith('wr') && size(p.access) == 5)": True,
        "paths.exists(p, (p.access + '!') == 'write!')": True,
        "paths.map(p, p.access) == ['write']": True,
        "'write' in paths.map(p, p.access)": True,
        "paths.exists(p, dyn(p.access) == 'write' && type(p.access) == string)": True,
        "paths.exists(p, p.access < 'z' && dyn(p.access) < 'z')": True,
        "paths.exists(p, {'write': 1}[p.access] == 1)": True,
        "paths.exists(p, p.access.matches('^wr.te$'))": True,
        "paths.exists(p, string(p.access) == 'write' && p.access.upperAscii() == 'WRITE')": True,
        "paths.map(p, p.access).join('-') == 'write'": True,
        "paths.exists(p, p.access != 'write')": False,
    }.items():
        condition = compile_condition(source, SCHEMA, policy="[" not in source.replace("['write']", ""))
        assert condition.test(env(paths=(Path(access=Access.WRITE),))) is want, source


def test_sets_hold_strings_and_nothing_else() -> None:
    for value, want in (
        ("read", True),
        ("write", False),
        (1, False),
        (["read"], False),
        ({"read": 1}, False),
        (None, False),
    ):
        world = env(payload={"path": "x", "extra": value}, operations=frozenset({"read"}))
        condition = compile_condition("has(payload.extra) && payload.extra in operations", SCHEMA)
        assert condition.test(world) is want
    condition = compile_condition("operations.map(o, o).join(',') == 'read,write' && size(operations) == 2", SCHEMA)
    assert condition.test(env(operations=frozenset({"write", "read"})))


def test_claims_about_the_payload_are_checked_at_every_read() -> None:
    for source, good, bad in (
        ("payload.path == 'x'", "x", [1, None, ["x"], True]),
        ("payload.path.startsWith('x')", "xy", [1, None, ["x"], {}]),
        ("payload.path in lists.readers", "cat", [1, None, ["cat"]]),
        ("payload.path.matches('^x')", "x", [1, b"x"]),
    ):
        condition = compile_condition(source, SCHEMA)
        assert condition.test(env(payload={"path": good}))
        for value in bad:
            with pytest.raises(CelError):
                condition.test(env(payload={"path": value}))
        with pytest.raises(CelError):
            condition.test(env(payload={}))
    lines = compile_condition("has(payload.lines) && payload.lines.exists(l, l > 3)", SCHEMA)
    assert lines.test(env(payload={"lines": [1, 4]}))
    for broken in ([True], ["4"], 4, None, {"4": 4}, [2**63], [4.0]):
        with pytest.raises(CelError):
            lines.test(env(payload={"lines": broken}))
