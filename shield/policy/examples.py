"""Examples of rules, checked whenever a file is loaded: a rule that does not do what it shows never starts to judge."""

from collections.abc import Mapping
from typing import Any, cast

from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.errors import InputError, PolicyError
from shield.facts.compute import compute
from shield.facts.made import MadeFile
from shield.policy.cel import CelError
from shield.policy.compiled import Rule
from shield.policy.reader import Map, Scalar, plain
from shield.policy.roots import environment
from shield.policy.rule import Example, Grant
from shield.policy.shape import Shape
from shield.policy.world import AGENT, NOW, WORKSPACE, made_place, read_files
from shield.types import Action, Facts

__all__ = ["check_examples", "holds_for", "read_action"]


def check_examples(rule: Rule) -> None:
    """`match`: the rule's own condition holds in the made world; `no_match`: it does not.

    A rule that is asked once per element matches if it holds for one of them, and does not if it fails for one.

    Raises:
        PolicyError: with the place of the first example that does otherwise.
    """
    shape = Shape(rule.file)
    for example in rule.text.examples:
        action, files, cwd = read_action(example.action, shape)
        kind = lookup(action.type)
        facts = compute(action, kind, made_place(files, cwd=cwd))
        try:
            held = holds_for(rule, action, facts)
            agrees = any(held) if example.matches else not held or not all(held)
        except CelError as error:
            raise _wrong(rule, example, f"cannot be evaluated: {error.detail}") from None
        if not agrees:
            wanted = "does not match, but stands under `match`" if example.matches else "matches the rule"
            raise _wrong(rule, example, wanted)


def holds_for(rule: Rule, action: Action, facts: Facts) -> tuple[bool, ...]:
    """Whether a rule's own condition holds: one answer, or one for each element that an allow rule is asked about.

    Raises:
        CelError: it cannot be evaluated.
    """
    if rule.types is not None and action.type not in rule.types:
        return ()
    if rule.condition is None:
        return (True,)
    values = environment(action, lookup(action.type), facts, agent=AGENT, workspace=WORKSPACE, now=NOW)
    elements: Mapping[Grant | None, tuple[object, ...]] = {
        Grant.PATH: facts.paths,
        Grant.COMMAND: facts.commands,
        Grant.HOST: facts.hosts,
        Grant.RECIPIENT: facts.recipients,
    }
    if rule.grants not in elements:
        return (rule.condition.test(values),)
    condition = rule.condition
    return tuple(condition.test((*values, element)) for element in elements[rule.grants])


def read_action(node: Map, shape: Shape) -> tuple[Action, Mapping[str, MadeFile], str | None]:
    """The action of an example or a case, its files and its `cwd` (the workspace where none is given).

    Raises:
        PolicyError: at the place of what is wrong.
    """
    values = {entry.key: entry.value for entry in node.entries}
    payload = shape.mapping(values["payload"], "`payload`")
    cwd: str | None = WORKSPACE
    if "cwd" in values:
        given = values["cwd"]
        cwd = None if isinstance(given, Scalar) and given.value is None else shape.string(given, "cwd")
        if cwd is not None and not cwd.startswith("/"):
            raise shape.error("`cwd` is an absolute path or null", given.mark)
    name = shape.string(values["type"], "type")
    try:
        action = make_action(name, cast(dict[str, Any], plain(payload)), cwd)
    except InputError as error:
        raise shape.error(f"not an action: {error.detail}", node.mark) from None
    files = read_files(values["files"], shape) if "files" in values else {}
    return action, files, cwd


def _wrong(rule: Rule, example: Example, detail: str) -> PolicyError:
    return PolicyError(
        f"this example {detail}; change the condition or the example",
        file=rule.file,
        line=example.mark.line,
        column=example.mark.column,
        key=f"rule `{rule.text.id}`",
    )
