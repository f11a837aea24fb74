"""Macros: what they stand for, that a name in them means one thing everywhere, and where errors point."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cel_world import SCHEMA, Access, Path, env
from policy_support import Folder, ask, command, path, rules
from shield.errors import PolicyError
from shield.policy.cel import CelLoadError, Position, Source, check_uses, compile_condition, read_macro
from shield.policy.load import add_workspace
from shield.types import Access as FactAccess
from shield.types import Answer


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def made(**texts):
    """Macros by name; `f__x_y` is `f(x, y)`."""
    found = {}
    for key, text in texts.items():
        name, _, params = key.partition("__")
        found[name] = read_macro(name, tuple(params.split("_")) if params else (), Source(text, Position(line=9)))
    check_uses(found)
    return found


def same(with_macros, written_out, macros):
    """The condition means what the text says that it stands for, for a number of facts."""
    one = compile_condition(with_macros, SCHEMA, macros=macros)
    other = compile_condition(written_out, SCHEMA)
    for resolved in (None, "/etc/x", "/ws/y"):
        for access in Access:
            for inside in (True, False):
                found = Path(raw="a", resolved=resolved, access=access, inside=inside, categories=frozenset({"ci"}))
                values = env(paths=(found, Path(raw="b")))
                assert one.test(values) == other.test(values), (with_macros, found)
    return one


def test_a_macro_is_its_text():
    macros = made(local="paths.all(p, p.inside)", touches__p_kinds="p.categories.exists(c, c in kinds)")
    same("macros.local", "paths.all(p, p.inside)", macros)
    same("!macros.local && size(paths) > 1", "!paths.all(p, p.inside) && size(paths) > 1", macros)
    same("paths.exists(p, macros.touches(p, ['ci']))", "paths.exists(p, 'ci' in p.categories)", macros)
    found = same(
        "paths.exists(q, macros.touches(q, lists.readers) || macros.touches(q, ['ci']))",
        "paths.exists(q, 'ci' in q.categories)",
        macros,
    )
    assert found.macros == {"touches"}


def test_macros_use_macros():
    macros = made(
        inside__p="p.inside", read__p="macros.inside(p) && p.access == 'read'", any="paths.exists(p, macros.read(p))"
    )
    same("macros.any", "paths.exists(p, p.inside && p.access == 'read')", macros)


def test_names_of_the_place_do_not_leak_into_a_macro():
    macros = made(
        many="size(paths) > 1",
        other__x="paths.exists(p, p.raw == x)",
        nested__x="paths.exists(p, p.inside && p.raw != x)",
    )
    # a variable of the place named like a fact that the macro reads
    same("[1].exists(paths, macros.many)", "size(paths) > 1", macros)
    # the argument's `p` is the place's, not the macro's
    same("paths.exists(p, macros.other(p.raw))", "paths.exists(q, paths.exists(p, p.raw == q.raw))", macros)
    same(
        "paths.exists(p, macros.nested(p.raw))", "paths.exists(q, paths.exists(p, p.inside && p.raw != q.raw))", macros
    )
    # a variable of the rule that is named as the renamed one would be
    same(
        "paths.exists(p_1, macros.nested(p_1.raw))",
        "paths.exists(q, paths.exists(p, p.inside && p.raw != q.raw))",
        macros,
    )
    # a macro inside another, both with a variable of that name
    two = made(unlike__x="paths.exists(p, p.inside && p.raw != x)", pair="paths.exists(p, macros.unlike(p.raw))")
    same("macros.pair", "paths.exists(q, paths.exists(p, p.inside && p.raw != q.raw))", two)


def test_a_guard_before_a_macro_holds_inside_it():
    macros = made(etc__p="p.resolved.startsWith('/etc/')")
    same(
        "paths.exists(p, has(p.resolved) && macros.etc(p))",
        "paths.exists(p, has(p.resolved) && p.resolved.startsWith('/etc/'))",
        macros,
    )
    with pytest.raises(CelLoadError, match="may be absent"):
        compile_condition("paths.exists(p, macros.etc(p))", SCHEMA, macros=macros)


ERRORS = [  # condition, line, column, parts of the message
    ("macros.lcal", 1, 8, ["unknown macro `lcal`", "did you mean `local`?"]),
    ("macros.both(1)", 1, 8, ["is written `macros.both(x, y)`"]),
    ("macros.both", 1, 8, ["is written `macros.both(x, y)`"]),
    ("macros.local(1)", 1, 8, ["is written `macros.local`"]),
    ("malformd || macros.local", 1, 1, ["unknown name `malformd`"]),
    ("macros.both('a', 1)", 9, 1, ["never equal", "in the macro `both`, used in line 1, column 8"]),
    ("macros.outer(1)", 9, None, ["in the macro `inner`, used in line 9", "in the macro `outer`, used in line 1"]),
    ("paths.exists(macros, macros.local)", 1, None, ["choose another variable"]),
    ("macros == 1", 1, 1, ["unknown name `macros`"]),
    ("paths.exists(a, paths.exists(b, macros.local))", 9, None, ["inside one another", "used in line 1, column 40"]),
]


@pytest.mark.parametrize(("text", "line", "column", "parts"), ERRORS, ids=[row[0] for row in ERRORS])
def test_errors_point_at_the_macro_and_at_its_use(text, line, column, parts):
    macros = made(
        local="paths.all(p, p.inside)",
        both__x_y="x == y",
        inner__x="x.startsWith('a')",
        outer__x="macros.inner(x)",
    )
    with pytest.raises(CelLoadError) as caught:
        compile_condition(text, SCHEMA, macros=macros)
    error = caught.value
    assert error.line == line
    assert column is None or error.column == column
    assert all(part in error.detail for part in parts), error.detail


def test_a_macro_that_uses_itself_ends_where_it_is_used_too():
    loop = {
        "a": read_macro("a", (), Source("!macros.b", Position())),
        "b": read_macro("b", (), Source("macros.a", Position())),
    }
    with pytest.raises(CelLoadError, match="the macro `a` uses itself"):
        compile_condition("macros.a", SCHEMA, macros=loop)
    with pytest.raises(CelLoadError, match="uses itself"):
        check_uses(loop)


def test_what_macros_make_is_bounded():
    grows = {f"m{i}": f"macros.m{i + 1} && macros.m{i + 1} && macros.m{i + 1}" for i in range(6)}
    macros = made(**grows, m6="true")
    with pytest.raises(CelLoadError, match=r"too many macros|too large"):
        compile_condition("macros.m0", SCHEMA, macros=macros)
    wide = made(wide__x=" && ".join(["x"] * 60))
    with pytest.raises(CelLoadError, match="too large"):
        compile_condition(f"macros.wide({' && '.join(['true'] * 60)})", SCHEMA, macros=wide)
    with pytest.raises(CelLoadError, match="inside one another"):
        made(**{f"m{i}": f"macros.m{i + 1}" for i in range(9)}, m9="true")
    # as many that use one another as a file may hold are looked at once each, not once for every way to them
    made(**{f"m{i}": " || ".join(f"macros.m{i + j}" for j in range(1, 8) if i + j < 8) or "true" for i in range(8)})


def test_macros_of_a_policy(folder):
    text = (
        "version: 1\nname: mine\ndefault: {effect: escalate, to: 3}\nlists: {tools: [ls]}\n"
        "macros:\n  local: path.inside_workspace\n  known(c): c.name in lists.tools\n"
        "rules:\n  - {id: r, effect: allow, grants: path, when: macros.local && path.access == 'read'}\n"
        "  - {id: c, effect: allow, grants: command, when: macros.known(command)}\n"
    )
    policy = folder.policy(text)
    assert ask(policy, "read_file", paths=(path(),)).answer is Answer.ALLOW
    assert ask(policy, "read_file", paths=(path("/etc/hosts"),)).answer is Answer.ESCALATE
    assert ask(policy, "read_file", paths=(path(access=FactAccess.WRITE),)).answer is Answer.ESCALATE
    assert ask(policy, "execute_command", commands=(command("ls"),)).answer is Answer.ALLOW
    assert ask(policy, "execute_command", commands=(command("rm"),)).answer is Answer.ESCALATE
    # `path` of the macro is the element of an allow rule: a rule that has none says where
    with pytest.raises(PolicyError, match="unknown name `path`") as caught:
        folder.policy(text + "  - {id: b, effect: block, when: macros.local}\n")
    assert (caught.value.line, caught.value.column) == (6, 10)
    assert "used in line 11" in caught.value.detail
    # what a macro says is part of what decides
    assert folder.policy(text.replace("path.inside_workspace", "true")).digest != policy.digest


def test_macros_belong_to_their_file(folder):
    folder.write("team", "version: 1\nname: team\nmacros: {a: malformed}\n")
    with pytest.raises(PolicyError, match="unknown macro `a`"):
        folder.policy(rules("{id: r, effect: block, when: macros.a}", head="extends: [team]\n"))


def test_a_workspace_has_macros_of_its_own(folder):
    text = "version: 1\nmacros: {mine: agent == 'agent'}\nrules: [{id: a, effect: block, when: macros.mine}]\n"
    policy = add_workspace(folder.policy(rules()), text.encode(), ".shield.yaml")
    assert ask(policy, "read_file", paths=(path(),)).rule == "workspace:a"


LEAVES = [
    "p.inside",
    "p.raw == 'a'",
    "'ci' in p.categories",
    "has(p.resolved)",
    "p.access == 'read'",
    "(p.inside || true)",
]
BODIES = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda text: f"!({text})"),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} ? {t[1]} : {t[2]})"),
    ),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(one=BODIES, other=BODIES)
def test_writing_out_is_what_a_macro_means(one, other):
    macros = made(one__p=one, other__p=f"macros.one(p) != ({other})", all="paths.exists(p, macros.other(p))")
    same("macros.all", f"paths.exists(p, ({one}) != ({other}))", macros)
