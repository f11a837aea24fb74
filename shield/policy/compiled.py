"""A rule ready to be asked: its text with its condition compiled against what its file and its actions declare."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType

from shield.actions.registry import canonical_name
from shield.errors import PolicyError
from shield.policy.cel import (
    CelLoadError,
    Condition,
    Macro,
    Position,
    Source,
    check_uses,
    compile_condition,
    free_names,
    nearest,
    read_macro,
)
from shield.policy.reader import Scalar
from shield.policy.roots import NAMES, schema_for
from shield.policy.rule import Grant, PolicyFile, RuleOrigin, RuleText
from shield.types import Effect, Severity, Tier

__all__ = ["Rule", "compile_rule", "read_macros"]

_WORKSPACE_PREFIX = "workspace:"  # `:` is in no id, so a workspace's rule can never take the name of an owner's
_SEVERITIES = {Severity.LOW: 1, Severity.MEDIUM: 2, Severity.HIGH: 3, Severity.CRITICAL: 4}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """`id` is unique in a policy set. `types` are the action types it can hold for, None for every type.

    `condition` None holds always. `tier` is what the rule asks for: `to`, `min_tier`, or a person's for a block.
    `order` puts rules of one effect in the order in which a verdict names them: what asks for most, then the most
    severe, then the first by id. `names_its_types`: the rule says itself which action types it speaks of.
    """

    id: str
    text: RuleText
    origin: RuleOrigin
    file: str
    condition: Condition | None
    types: frozenset[str] | None
    tier: Tier
    order: tuple[int, int, str]
    names_its_types: bool

    @property
    def effect(self) -> Effect:
        return self.text.effect

    @property
    def grants(self) -> Grant | None:
        return self.text.grants


def read_macros(file: PolicyFile, *, proven: bool = False) -> Mapping[str, Macro]:
    """The macros of a file, parsed; each name in them is a parameter, a variable or one of the facts.

    Those of a file that is not `proven` are read by two parsers, which have to agree.

    Raises:
        PolicyError: with the place inside the macro.
    """
    macros: dict[str, Macro] = {}
    for text in file.macros.values():
        with _placed(file.file, f"macro `{text.name}`"):
            macro = read_macro(text.name, text.params, Source(text.text.text, _position(text.text)), proven=proven)
            for name in free_names(macro):
                if name.name not in NAMES:
                    raise macro.source.error(f"unknown name `{name.name}`", name.pos, nearest(name.name, NAMES))
            macros[text.name] = macro
    with _placed(file.file, "macros"):
        check_uses(macros)
    return MappingProxyType(macros)


def compile_rule(
    text: RuleText,
    file: str,
    origin: RuleOrigin,
    lists: Mapping[str, Sequence[str]],
    macros: Mapping[str, Macro] = MappingProxyType({}),
    *,
    proven: bool = False,
) -> Rule:
    """Check and compile a rule's condition; one that is not `proven` is read by two parsers, which have to agree.

    Raises:
        PolicyError: with the place inside the condition.
    """
    condition = None
    if text.when is not None:
        with _placed(file, f"rule `{text.id}`"):
            condition = compile_condition(
                text.when.text,
                schema_for(text.actions, text.grants, lists),
                origin=_position(text.when),
                macros=macros,
                proven=proven,
            )
        _refuse_aliases(text, condition, file)
    rule_id = f"{_WORKSPACE_PREFIX}{text.id}" if origin is RuleOrigin.WORKSPACE else text.id
    types, tier = _types(text, condition), _tier(text)
    return Rule(
        id=rule_id,
        text=text,
        origin=origin,
        file=file,
        condition=condition,
        types=types,
        tier=tier,
        order=(-tier, -_SEVERITIES[text.severity], rule_id),
        names_its_types=types is not None or text.grants is Grant.ACTION,
    )


def _refuse_aliases(text: RuleText, condition: Condition, file: str) -> None:
    """Aliases are replaced before an action is judged: a condition that waits for one would never hold."""
    assert text.when is not None
    for name in sorted(condition.types or ()):
        if canonical_name(name) != name:
            raise PolicyError(
                f"`{name}` is only another name of the type `{canonical_name(name)}`; write that",
                file=file,
                line=text.when.mark.line,
                column=text.when.mark.column,
                key=f"rule `{text.id}`",
            )


@contextmanager
def _placed(file: str, key: str) -> Iterator[None]:
    """What is wrong in a condition, said of its file and key."""
    try:
        yield
    except CelLoadError as error:
        raise PolicyError(error.detail, file=file, line=error.line, column=error.column, key=key) from None


def _position(when: Scalar) -> Position:
    """Where the text of a condition begins."""
    indent = when.inner.column - 1 if when.inner.line > when.mark.line else 0
    return Position(line=when.inner.line, column=when.inner.column, indent=indent)


def _types(text: RuleText, condition: Condition | None) -> frozenset[str] | None:
    stated = frozenset(text.actions) if text.actions is not None else None
    found = condition.types if condition is not None else None
    if stated is None or found is None:
        return stated if found is None else found
    return stated & found


def _tier(text: RuleText) -> Tier:
    if text.effect is Effect.ALLOW:
        return text.min_tier
    return text.to if text.to is not None else Tier.PERSON
