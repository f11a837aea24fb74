"""Case files: actions in a made world with the verdict that a policy owes them (CONTRACTS "Examples in rules")."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

from shield.facts.place import Place
from shield.policy.examples import read_action
from shield.policy.reader import List, Map, Node, Scalar, plain, read
from shield.policy.shape import Shape
from shield.policy.world import made_place
from shield.types import ActionRequest, Decision, Isolation, Json, Labels, SessionFacts, Tier

__all__ = ["Case", "Expected", "contains", "read_cases"]

MAX_CASES = 100_000
_CASE_KEYS = ("id", "action", "files", "session", "isolation", "expect", "note")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a case wants: one of `decisions`; the others only where they are given."""

    decisions: tuple[Decision, ...]
    rule: str | None = None
    need: Tier | None = None
    facts: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))

    def as_json(self) -> dict[str, Json]:
        """As the case file writes it."""
        words: list[Json] = [decision.value for decision in self.decisions]
        found: dict[str, Json] = {"decision": words[0] if len(words) == 1 else words}
        if self.rule is not None:
            found["rule"] = self.rule
        if self.need is not None:
            found["need"] = int(self.need)
        if self.facts:
            found["facts"] = dict(self.facts)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case: what is proposed, where, and what it must lead to. `line` is where it begins in `file`."""

    id: str
    file: str
    line: int
    request: ActionRequest
    place: Place
    expected: Expected


def read_cases(raw: bytes, file: str, share: tuple[int, int] = (0, 1)) -> tuple[Case, ...]:
    """Every case of a file, in order, or with `share` (k, n) the k-th of n equal parts of them.

    Raises:
        PolicyError: with file, line and column of what is wrong.
    """
    shape = Shape(file)
    top = shape.mapping(read(raw, file), "a case file", ("version", "cases"), needed=("version", "cases"))
    shape.version(top)
    entry = top.get("cases")
    assert entry is not None
    items = shape.items(entry.value, "cases")
    if not items:
        raise shape.error("`cases` is empty", entry.mark)
    if len(items) > MAX_CASES:
        raise shape.error(f"more than {MAX_CASES} cases", entry.mark)
    start, stop = (len(items) * place // share[1] for place in (share[0], share[0] + 1))
    lines: dict[str, int] = {}
    cases = []
    for place, item in enumerate(items[:stop]):
        name = _id(item, shape)
        if name in lines:
            raise shape.error(f"the id `{name[:64]}` is used twice, first in line {lines[name]}", item.mark)
        lines[name] = item.mark.line
        if place >= start:
            cases.append(_case(item, shape))
    return tuple(cases)


def contains(actual: Json, expected: Json) -> bool:
    """Whether `actual` holds all that `expected` names: keys of mappings, items of lists; an empty list is exact."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(
            key in actual and contains(actual[key], value) for key, value in expected.items()
        )
    if isinstance(expected, list):
        if not isinstance(actual, list) or (not expected and actual):
            return False
        return all(any(contains(item, wanted) for item in actual) for wanted in expected)
    return type(actual) is type(expected) and actual == expected


def _id(node: Node, shape: Shape) -> str:
    top = shape.mapping(node, "a case", _CASE_KEYS, needed=("id", "action", "expect"))
    entry = top.get("id")
    assert entry is not None
    return shape.prose(entry.value, "id")


def _case(node: Node, shape: Shape) -> Case:
    top = shape.mapping(node, "a case", _CASE_KEYS, needed=("id", "action", "expect"))
    values = {entry.key: entry.value for entry in top.entries}
    action_node = shape.mapping(
        values["action"], "`action`", ("type", "payload", "cwd", "min_tier"), needed=("type", "payload")
    )
    with_files = action_node
    if "files" in values:
        files_entry = top.get("files")
        assert files_entry is not None
        with_files = Map(mark=action_node.mark, entries=(*action_node.entries, files_entry))
    action, files, cwd = read_action(with_files, shape)
    case_id = shape.prose(values["id"], "id")
    floor = action_node.get("min_tier")
    return Case(
        id=case_id,
        file=shape.file,
        line=top.mark.line,
        request=ActionRequest(
            id=case_id,
            action=action,
            min_tier=shape.tier(floor.value, "min_tier", (0, 1, 2, 3)) if floor is not None else Tier.POLICY,
        ),
        place=made_place(
            files,
            cwd=cwd,
            session=_session(values["session"], shape) if "session" in values else None,
            isolation=_isolation(values.get("isolation"), shape),
        ),
        expected=_expected(values["expect"], shape),
    )


def _expected(node: Node, shape: Shape) -> Expected:
    top = shape.mapping(node, "`expect`", ("decision", "rule", "need", "facts"), needed=("decision",))
    values = {entry.key: entry.value for entry in top.entries}
    decision = values["decision"]
    words = decision.items if isinstance(decision, List) else (decision,)
    decisions = tuple(Decision(shape.choice(word, "decision", Decision)) for word in words)
    if not decisions:
        raise shape.error("`decision` is empty; name ALLOW, ESCALATE or BLOCK", decision.mark)
    facts: Mapping[str, Json] = {}
    if "facts" in values:
        facts = cast(dict[str, Any], plain(shape.mapping(values["facts"], "`facts`")))
    return Expected(
        decisions=decisions,
        rule=shape.string(values["rule"], "rule") if "rule" in values else None,
        need=shape.tier(values["need"], "need", (0, 1, 2, 3)) if "need" in values else None,
        facts=MappingProxyType(dict(facts)),
    )


def _isolation(node: Node | None, shape: Shape) -> Isolation:
    """The sandbox that the case is judged under; the strongest where it says none."""
    return Isolation(shape.choice(node, "isolation", Isolation)) if node is not None else Isolation.CONFINED


def _session(node: Node, shape: Shape) -> SessionFacts:
    top = shape.mapping(node, "`session`", ("labels", "counts", "written", "approved"))
    values = {entry.key: entry.value for entry in top.entries}
    labels = Labels()
    if "labels" in values:
        marks = shape.mapping(values["labels"], "`labels`", ("confidentiality", "integrity"))
        given = {entry.key: shape.string(entry.value, entry.key) for entry in marks.entries}
        labels = Labels(**given)
    counts = {}
    if "counts" in values:
        for entry in shape.mapping(values["counts"], "`counts`").entries:
            count = entry.value.value if isinstance(entry.value, Scalar) else None
            if type(count) is not int or count < 0:
                raise shape.error("a count is a whole number", entry.value.mark)
            counts[entry.key] = count
    return SessionFacts(
        labels=labels,
        counts=MappingProxyType(counts),
        written=_words(values, "written", shape),
        approved=_words(values, "approved", shape),
    )


def _words(values: Mapping[str, Node], key: str, shape: Shape) -> tuple[str, ...]:
    if key not in values:
        return ()
    return tuple(shape.string(item, key) for item in shape.items(values[key], key))
