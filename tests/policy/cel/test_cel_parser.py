"""The two parsers: the same trees at the same positions, the same texts refused; where they differ nothing is loaded."""

import re
from dataclasses import replace

import pytest
import yaml
from celpy.celparser import CELParser
from hypothesis import example, given
from hypothesis import strategies as st

from cel_vectors import cases
from shared_data import ROOT, shared
from shield.policy.cel import CelLoadError, Position, Source
from shield.policy.cel.grammar import confirm, folded
from shield.policy.cel.parser import MAX_LEVELS, MAX_NODES, parse, read
from shield.policy.cel.syntax import Literal, Name, Node, Unary, parts, walk
from shield.policy.tools.tree import rebuilt

TOO_MUCH = "64 bits", "double", "too large"
NO_PLACE = re.compile(r"\b(?:true|false)\b")  # the grammar's trees do not say where these stand


def tree_of(text: str) -> Node:
    return parse(Source(text, Position()))


def placeless(node: Node) -> Node:
    return replace(rebuilt(node, [placeless(part) for part in parts(node)]), pos=0)


def shown(node: Node) -> str:
    """`1`, `1.0` and `true` are equal to Python, and `-0.0` and `0.0`."""
    return repr(node)


def agree(text: str) -> bool | None:
    """Whether both take the text, as one tree; None where it is refused for what is not grammar."""
    theirs = folded(text)
    try:
        ours = tree_of(text)
    except CelLoadError as error:
        detail = error.detail
    else:
        assert theirs is not None, "the grammar refuses it"
        if NO_PLACE.search(text):
            ours, theirs = placeless(ours), placeless(theirs)
        assert shown(ours) == shown(theirs)
        return True
    if any(part in detail for part in TOO_MUCH):
        return None
    assert theirs is None or "not `in`" in detail, f"refused: {detail}"  # `in` is a name to the grammar
    return False


WORDS = [
    "a", "b.c", "f", "size", "exists", "x1", "'s'", '"\\""', "b'y'", "r'\\'", "'''\n'''", "1", "-1", "0x1F", "1.5", ".5", "2e3", "-.5e-2",
    "true", "false", "null", "in", ".", ",", ":", "?", "!", "-", "+", "*", "/", "%", "<", "<=", "==", "!=", ">", ">=", "&&", "||",
    "(", ")", "[", "]", "{", "}", " ", "\n", "// c\n",
]  # fmt: skip


def expressions():
    """Mostly whole expressions, so that what is taken is compared, too."""
    leaf = st.sampled_from(["a", ".b", "'s'", "1", "-1", "- 1", "2.5", "true", "null", "f()", "[]", "{}", "b'x'"])

    def grown(inner):
        two = st.tuples(
            inner, st.sampled_from(["||", "&&", "==", "!=", "<", ">=", " in ", "+", "-", "- ", "*", "/", "%"]), inner
        )
        return st.one_of(
            two.map("".join),
            inner.map("({})".format),
            inner.map("!{}".format),
            inner.map("-{}".format),
            inner.map("({}).c".format),
            inner.map("a.m({})".format),
            st.tuples(inner, inner).map(lambda p: f"a.exists(v, {p[0]})[{p[1]}]"),
            st.tuples(inner, inner).map(lambda p: f"[{p[0]}, {p[1]}]"),
            st.tuples(inner, inner).map(lambda p: f"{{{p[0]}: {p[1]}}}"),
            st.tuples(inner, inner, inner).map(lambda p: f"{p[0]} ? {p[1]} : {p[2]}"),
        )

    return st.recursive(leaf, grown, max_leaves=12)


@given(expressions())
@example("a ? b : c ? d : e")
@example("(a || b) || (c || d) && e || f")
@example("(((a))).b.c(d)[e]")
@example("a - -1 - - 1-1")
@example("!!-x.y")
@example("[-1, - 1][-1]")
@example("a-1")
@example("1 in a in b")
@example("-1.5e3 == .a.b")
def test_the_same_tree(text: str) -> None:
    agree(text)


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map("".join))
@example("a ? b ? c : d : e")
@example("f(a,)")
@example("[1,]")
@example("{1:2,}")
@example("()")
@example("a.")
@example("a.1")
@example("a b")
@example("f(,)")
@example("a{b: 1}")
@example(".f()")
@example("in")
@example("a && ")
@example("{a}")
@example("1(2)")
@example("'a'('b')")
@example("a(b)(c)")
@example("true()")
@example("a.null")
def test_the_same_texts_are_refused(text: str) -> None:
    agree(text)


def test_conditions_of_shipped_policies() -> None:
    texts = []
    for path in (ROOT / "policies").glob("*.yaml"):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        texts += [rule["when"] for rule in content.get("rules", ()) if "when" in rule]
        texts += content.get("macros", {}).values()
    assert len(texts) > 100
    assert all(agree(text) for text in texts)


def test_expressions_of_the_specification() -> None:
    texts = {case.expr for case in cases(shared("vectors/cel"))}
    taken = [agree(text) for text in sorted(texts)]
    assert taken.count(True) > 1400


@pytest.mark.parametrize("text", ["nullable", "truest", "falsehood.a", "nulls(true1)"])
def test_names_that_begin_like_literals(text: str) -> None:
    assert not any(isinstance(node, Literal) for node in walk(read(Source(text, Position()))))


def test_literals_have_a_place() -> None:
    tree = tree_of("a == true")
    assert [node for node in walk(tree) if isinstance(node, Literal)] == [Literal(5, True)]


def test_a_sign_belongs_to_the_number_only_where_no_value_ends() -> None:
    assert tree_of("-1") == Literal(0, -1)
    assert tree_of("- 1") == Unary(0, "-", Literal(2, 1))
    assert tree_of("-a") == Unary(0, "-", Name(1, "a", False))
    assert tree_of("-9223372036854775808") == Literal(0, -(2**63))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a ==", "a value is expected, not the end"),
        ("a == 'x' &&\n", "a value is expected, not the end"),
        ("(a == ) && b", "a value is expected, not `)`"),
        ("f(a", "never closed"),
        ("f(a b)", "two values side by side"),
        ("f(a : b)", "`)` is expected, not `:`"),
        ("a ? b", "`:` is expected, not the end"),
        ("a : b", "an operator is expected, not `:`"),
        ("{a}", "`:` is expected, not `}`"),
        ("a.(b)", "a name is expected, not `(`"),
    ],
)
def test_what_was_expected_is_said(text: str, said: str) -> None:
    with pytest.raises(CelLoadError, match=re.escape(said)):
        tree_of(text)


def test_bounds_are_exact() -> None:
    assert tree_of("!" * MAX_LEVELS + "a")
    with pytest.raises(CelLoadError, match="too deeply nested"):
        tree_of("!" * (MAX_LEVELS + 1) + "a")
    assert tree_of("||".join(["a"] * (MAX_NODES - 1)))
    with pytest.raises(CelLoadError, match="too large"):
        tree_of("||".join(["a"] * MAX_NODES))


def test_the_grammar_has_no_more_to_say() -> None:
    """The oracle knows every kind of node of the grammar; a new release of it that adds one is seen here."""
    CELParser()
    assert CELParser.CEL_PARSER is not None
    rules = {str(rule.origin.name) for rule in CELParser.CEL_PARSER.rules}
    assert {name for name in rules if not name.startswith("_")} == {
        "expr", "conditionalor", "conditionaland", "relation", "relation_lt", "relation_le", "relation_gt", "relation_ge",
        "relation_eq", "relation_ne", "relation_in", "addition", "addition_add", "addition_sub", "multiplication",
        "multiplication_mul", "multiplication_div", "multiplication_mod", "unary", "unary_not", "unary_neg", "member",
        "member_dot", "member_dot_arg", "member_index", "member_object", "primary", "dot_ident_arg", "dot_ident", "ident_arg",
        "ident", "paren_expr", "list_lit", "map_lit", "exprlist", "fieldinits", "mapinits", "literal",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("1", "1.0"),
        ("1", "true"),
        ("0.0", "-0.0"),
        ("'a'", "b'a'"),
        ("'a'", "'b'"),
        ("a", ".a"),
        ("a", "b"),
        ("a.b", "a.c"),
        ("a.b", "b.b"),
        ("a()", "b()"),
        ("a(b)", "a(b, b)"),
        ("a.f()", "f()"),
        ("a < b", "a > b"),
        ("a < b", "b < a"),
        ("a && b", "a || b"),
        ("a && b", "a && b && b"),
        ("!a", "-a"),
        ("a - (b - c)", "a - b - c"),
        ("a || b && c", "(a || b) && c"),
        ("a ? b : c", "a ? c : b"),
        ("[a]", "{a: a}"),
        ("[a, b]", "[a]"),
        ("{a: b}", "{b: a}"),
        ("a[b]", "a.b"),
        ("a", "a.f().g"),
        ("a", "in"),
    ],
)
def test_trees_that_differ_are_not_loaded(text: str, other: str) -> None:
    tree = tree_of(text)
    confirm(tree, Source(text, Position()))
    with pytest.raises(CelLoadError, match="a second parser"):
        confirm(tree, Source(other, Position()))


def test_where_they_differ_is_shown() -> None:
    ours, theirs = "a == 1 &&\n  b == 2", "a == 1 &&\n  b == 3"
    with pytest.raises(CelLoadError) as caught:
        confirm(tree_of(ours), Source(theirs, Position(line=7, column=9, indent=6)))
    assert (caught.value.line, caught.value.column) == (8, 14)
