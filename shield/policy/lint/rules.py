"""What a rule says and leaves out: reason, advice, examples, and how much it speaks of."""

from collections.abc import Iterator

from shield.actions.fields import FieldRole
from shield.actions.registry import lookup
from shield.policy.cel.syntax import Name, Node, Select, walk
from shield.policy.compiled import Rule
from shield.policy.lint.finding import CODES, Finding
from shield.policy.rule import Grant, RuleOrigin
from shield.policy.tools.form import Form, OneOf, form
from shield.policy.tools.sources import Sources
from shield.types import Effect, Operation, Tier

__all__ = ["check_rule"]

# What a tool of its own does and a command can do as well.
_ELSEWHERE = frozenset((Operation.READ, Operation.WRITE, Operation.DELETE, Operation.NETWORK))
_EXAMPLES = (("match", True), ("no_match", False))
_SHELL = "execute_command"
_OF_COMMANDS = frozenset(("commands", "shell", "payload"))
_WHERE = {
    Grant.PATH: frozenset(("inside_workspace", "resolved", "raw", "categories")),
    Grant.COMMAND: frozenset(("name", "program", "argv", "via")),
    Grant.HOST: frozenset(("host", "url", "ip_class")),
}


def check_rule(rule: Rule, sources: Sources) -> Iterator[Finding]:
    """SH006, SH010, SH011, SH012, SH016 and SH021 for one rule."""
    said = rule.text.stated
    if "reason" not in said:
        fix = "say in one sentence why; it is what the agent and the user are told"
        yield _finding("SH010", rule, "the rule gives no reason", fix)
    if rule.effect is not Effect.ALLOW and rule.origin is not RuleOrigin.WORKSPACE and "advice" not in said:
        fix = "say what to do instead: an agent without advice tries the next way around"
        yield _finding("SH011", rule, f"the rule {rule.effect.value}s and gives no advice", fix)
    shown = {example.matches for example in rule.text.examples}
    if shown != {True, False}:
        missing = " and ".join(f"`{key}`" for key, matches in _EXAMPLES if matches not in shown)
        fix = f"add `examples:` with {missing}; they are checked whenever the file is loaded"
        yield _finding("SH016", rule, f"no example under {missing}", fix)
    if not rule.text.enforce:
        fix = "write `enforce: true`, or remove the key, when the records show what you expect"
        yield _finding("SH021", rule, "the rule is recorded and decides nothing", fix)
    if rule.effect is Effect.ALLOW:
        yield from _broad(rule, sources)
    else:
        yield from _narrow(rule, sources.tree(rule))


def _broad(rule: Rule, sources: Sources) -> Iterator[Finding]:
    tree = sources.tree(rule)
    if tree is None or rule.tier is Tier.PERSON or rule.grants not in _WHERE:
        return
    if rule.grants is Grant.COMMAND and _of_line(form(tree, sources.file(rule).lists, "command")):
        return
    read = _read_of(tree, rule.grants.value)
    if "*" in read:
        return
    roots = {node.name for node in walk(tree) if isinstance(node, Name)}
    if not read & _WHERE[rule.grants] and "payload" not in roots:
        words = ", ".join(f"`{rule.grants.value}.{field}`" for field in sorted(_WHERE[rule.grants]))
        said = f"the rule allows every {rule.grants.value} whatever it is"
        yield _finding("SH006", rule, said, f"say which: by {words}")
    elif rule.grants is Grant.PATH and "access" not in read and rule.types is None:
        fix = 'add `path.access in ["read", "list"]`, or name the types in `actions:`'
        yield _finding("SH006", rule, "the rule allows reading, writing and deleting alike", fix)
    elif rule.grants is Grant.COMMAND and not read & {"origin", "program"}:
        fix = 'add `command.origin in ["system", "builtin"]`: a workspace may hold a program of that name'
        yield _finding("SH006", rule, "the rule does not say whose program it is", fix)


def _of_line(found: Form) -> bool:
    """Whether the rule is about functions of the line itself, whose commands are all asked about."""
    own = OneOf("v0.origin", frozenset(((False, "function"),)), True)
    return bool(found.terms) and all(own in term for term in found.terms or ())


def _read_of(tree: Node, element: str) -> frozenset[str]:
    """The fields of the element that a condition reads; `*` where a function takes the element whole."""
    fields = {node.field for node in walk(tree) if isinstance(node, Select) and _is_name(node.base, element)}
    whole = sum(_is_name(node, element) for node in walk(tree))
    held = sum(isinstance(node, Select) and _is_name(node.base, element) for node in walk(tree))
    return frozenset((*fields, "*")) if whole > held else frozenset(fields)


def _is_name(node: Node, name: str) -> bool:
    return isinstance(node, Name) and node.name == name


def _narrow(rule: Rule, tree: Node | None) -> Iterator[Finding]:
    if rule.text.actions is None:
        return
    types = frozenset(rule.text.actions)
    roots = {node.name for node in walk(tree) if isinstance(node, Name)} if tree is not None else set()
    if types == {_SHELL}:
        if roots & {"paths", "hosts"} and not roots & _OF_COMMANDS:
            fix = "remove `actions`: paths and hosts are there for every tool"
            yield _finding("SH012", rule, "only commands are looked at, file and web tools are not", fix)
    elif _SHELL not in types and not _of_options(types, tree):
        done = {operation for name in types for operation in lookup(name).operations} & _ELSEWHERE
        if done:
            words = ", ".join(sorted(operation.value for operation in done))
            said = f"a command can do the same ({words}) and is not looked at"
            fix = "remove `actions` and say it by `paths`, `hosts` or `commands`, which see every tool"
            yield _finding("SH012", rule, said, fix)


def _of_options(types: frozenset[str], tree: Node | None) -> bool:
    """Whether the rule is about an option of these tools, which only their payload shows."""
    read = (
        {node.field for node in walk(tree) if isinstance(node, Select) and _is_name(node.base, "payload")}
        if tree is not None
        else set()
    )
    kinds = [lookup(name) for name in types]
    roles = {kind.fields[field].role for kind in kinds for field in read if field in kind.fields}
    return roles == {FieldRole.OPTION}


def _finding(code: str, rule: Rule, message: str, fix: str) -> Finding:
    return Finding(code=CODES[code], file=rule.file, mark=rule.text.mark, rule=rule.id, message=message, fix=fix)
