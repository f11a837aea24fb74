"""All checks of one policy, in the order in which its files are read."""

from shield.policy.lint.conditions import check_condition
from shield.policy.lint.finding import Finding
from shield.policy.lint.names import check_names
from shield.policy.lint.pairs import check_pairs
from shield.policy.lint.patterns import check_patterns
from shield.policy.lint.rules import check_rule
from shield.policy.tools.sources import Sources

__all__ = ["lint"]


def lint(sources: Sources) -> tuple[Finding, ...]:
    """What there is to say of the policy's own files; rules that it extends are only compared with."""
    found: list[Finding] = []
    for file in sources.files:
        if file.file in sources.own:
            found.extend(check_names(file, sources))
    for rule in sources.of(extended=False):
        found.extend(check_rule(rule, sources))
        found.extend(check_condition(rule, sources))
        found.extend(check_patterns(rule, sources))
    found.extend(check_pairs(sources))
    places = {file.file: place for place, file in enumerate(sources.files)}
    return tuple(sorted(found, key=lambda one: (places.get(one.file, 0), one.mark, one.code.id, one.message)))
