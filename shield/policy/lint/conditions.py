"""Conditions that are never true, always true, never anything, or decided by a part of themselves."""

from collections.abc import Iterator, Mapping, Sequence

from shield.policy.cel import CelError, CelLoadError, Schema, compile_expression
from shield.policy.cel.syntax import Binary, Call, Choice, Items, Literal, Logic, Name, Node, Select, parts, walk
from shield.policy.compiled import Rule
from shield.policy.lint.finding import CODES, Finding
from shield.policy.lint.vocabulary import unknown_word
from shield.policy.tools.form import form
from shield.policy.tools.logic import always, never
from shield.policy.tools.sources import Sources
from shield.policy.tools.tree import both, is_macro, negated, written
from shield.types import Effect

__all__ = ["check_condition"]


def check_condition(rule: Rule, sources: Sources) -> Iterator[Finding]:
    """SH001, SH002, SH003, SH007, SH019 and SH020 for one rule."""
    tree = sources.tree(rule)
    if rule.types is not None and not rule.types:
        said, fix = "`actions` and the condition name no type together", "name the same types"
        if rule.text.actions is None:
            said = "the condition holds for no action type: an action has one"
            fix = 'write `action.type in ["…", "…"]` for either of them'
        yield _finding("SH002", rule, sources, tree, said, fix)
        return
    if tree is None:
        return
    lists = sources.file(rule).lists
    broken = list(_broken(rule, sources, tree))
    words = list(_words(rule, sources, tree))
    yield from broken
    yield from words
    if never(form(tree, lists)):
        said = "the condition can never hold, so the rule does nothing"
        yield _finding("SH001", rule, sources, tree, said, "correct the condition or remove the rule")
        return
    if always(tree, lists):
        said = "the condition holds for every action"
        if rule.effect is Effect.ALLOW:
            said = f"the condition holds for every {rule.grants}"
        yield _finding("SH003", rule, sources, tree, said, "say what the rule is about")
        return
    for node in _truths(tree):
        yield from _idle(node, rule, sources)


def _finding(code: str, rule: Rule, sources: Sources, node: Node | None, message: str, fix: str) -> Finding:
    mark = rule.text.mark if node is None else sources.place(rule, node)
    return Finding(code=CODES[code], file=rule.file, mark=mark, rule=rule.id, message=message, fix=fix)


def _truths(node: Node) -> Iterator[Node]:
    """The nodes whose truth is asked for, the operands of operands and the bodies of macros among them."""
    for one in walk(node):
        if isinstance(one, Logic | Choice) or (isinstance(one, Call) and is_macro(one)):
            yield one


def _idle(node: Node, rule: Rule, sources: Sources) -> Iterator[Finding]:
    """Operands of `&&` and `||` that never make a difference, and macros whose body does not."""
    lists = sources.file(rule).lists
    fix = "remove it or correct it"
    if isinstance(node, Call) and node.name != "map":
        body = node.args[1]
        if never(form(body, lists)):
            yield _finding("SH020", rule, sources, body, f"`{_cut(body)}` can never be true", fix)
        elif always(body, lists):
            yield _finding("SH020", rule, sources, body, f"`{_cut(body)}` is always true", fix)
    if not isinstance(node, Logic):
        return
    for place, arg in enumerate(node.args):
        others = (*node.args[:place], *node.args[place + 1 :])
        if node.op == "or" and never(form(arg, lists)):
            yield _finding("SH020", rule, sources, arg, f"`{_cut(arg)}` can never be true", fix)
        elif node.op == "and" and always(arg, lists):
            yield _finding("SH020", rule, sources, arg, f"`{_cut(arg)}` is always true", fix)
        elif node.op == "or" and never(form(both((arg, *(negated(other) for other in others))), lists)):
            said = f"`{_cut(arg)}` adds nothing: where it is true, another part is"
            yield _finding("SH020", rule, sources, arg, said, fix)
            return
        elif node.op == "and" and not _guards(arg) and never(form(both((negated(arg), *others)), lists)):
            said = f"`{_cut(arg)}` excludes nothing: where the other parts are true, it is"
            yield _finding("SH020", rule, sources, arg, said, fix)
            return


def _guards(node: Node) -> bool:
    """Whether a part is there so that what comes after it can be read at all."""
    return any(isinstance(one, Call) and one.name == "has" for one in walk(node))


# --- what cannot be evaluated ---


def _broken(rule: Rule, sources: Sources, tree: Node) -> Iterator[Finding]:
    """Constant parts whose value is an error: `1 / 0`, `duration("soon")`."""
    for node in _constants(tree):
        try:
            compile_expression(written(node), Schema(roots={}), policy=False).value(())
        except CelLoadError:
            continue
        except CelError as error:
            said = f"`{_cut(node)}` has no value: {error.detail}"
            fix = "a rule that cannot be evaluated counts as if it held: write a constant that has a value"
            if rule.effect is Effect.ALLOW:
                fix = "an allow rule that cannot be evaluated grants nothing: write a constant that has a value"
            yield _finding("SH007", rule, sources, node, said, fix)


def _constants(node: Node) -> Iterator[Node]:
    """The largest parts that name nothing, but for plain literals."""
    if isinstance(node, Literal):
        return
    if _names_nothing(node):
        if not isinstance(node, Items):
            yield node
        return
    for part in parts(node):
        yield from _constants(part)


def _names_nothing(node: Node) -> bool:
    if isinstance(node, Name | Choice | Logic) or is_macro(node):
        return False
    return all(_names_nothing(part) for part in parts(node))


# --- words that no fact is ---


def _words(rule: Rule, sources: Sources, tree: Node) -> Iterator[Finding]:
    lists = sources.file(rule).lists
    for field, word, at in _compared(tree, lists, {}):
        fix = unknown_word(field, word)
        if fix is not None:
            yield _finding("SH019", rule, sources, at, f"no `{field}` is ever `{word[:64]}`", fix)


def _compared(
    node: Node, lists: Mapping[str, Sequence[str]], bound: Mapping[str, str]
) -> Iterator[tuple[str, str, Node]]:
    """The field that a constant is compared with, the constant and where it stands. `bound`: the field that each
    macro's variable is an item of."""
    if isinstance(node, Binary) and node.op in ("==", "!=", "in"):
        left, right = node.left, node.right
        if node.op == "in" and _field(right, bound):
            yield from ((_field(right, bound), word, at) for word, at in _strings(left, lists))
        elif _field(left, bound):
            yield from ((_field(left, bound), word, at) for word, at in _strings(right, lists))
        elif node.op != "in" and _field(right, bound):
            yield from ((_field(right, bound), word, at) for word, at in _strings(left, lists))
    inner = bound
    if is_macro(node):
        assert isinstance(node, Call)
        assert node.target is not None
        variable = node.args[0]
        assert isinstance(variable, Name)
        inner = {**bound, variable.name: _field(node.target, bound)}
    for place, part in enumerate(parts(node)):
        yield from _compared(part, lists, bound if place == 0 else inner)


def _field(node: Node, bound: Mapping[str, str]) -> str:
    """The name of the field of the facts that a value is; empty where it is none."""
    if isinstance(node, Name) and not node.rooted:
        return bound.get(node.name, "")
    # fields of the payload are the caller's: they may be anything
    if isinstance(node, Select) and not (isinstance(node.base, Name) and node.base.name in ("payload", "lists")):
        return node.field
    return ""


def _strings(node: Node, lists: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, Node]]:
    match node:
        case Literal():
            if isinstance(node.value, str):
                yield node.value, node
        case Items():
            for item in node.items:
                yield from _strings(item, lists)
        case Select() if isinstance(node.base, Name) and node.base.name == "lists":
            yield from ((word, node) for word in lists.get(node.field, ()))


def _cut(node: Node) -> str:
    text = written(node)
    return text if len(text) <= 80 else f"{text[:79]}…"
