"""What a heuristics file may say: every key, its type and its values. Whatever is not listed here is a load error."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from shield.facts.secrets import KINDS
from shield.heuristics.letters import by_block
from shield.heuristics.rule import HeuristicExample, HeuristicFile, HeuristicRule, Pattern
from shield.policy.names import NAME, WORD
from shield.policy.reader import Entry, List, Map, Node, Scalar, plain, read
from shield.policy.shape import Shape, suggest
from shield.regex import regex
from shield.types import Answer, Severity, TextKind

__all__ = ["FILE_KEYS", "RULE_KEYS", "is_heuristics", "read_file"]

FILE_KEYS: Final = ("version", "name", "words", "unless", "despite", "rules")
RULE_KEYS: Final = (
    "id", "severity", "kinds", "patterns", "secrets", "case", "near", "unless", "despite",
    "reason", "advice", "examples",
)  # fmt: skip
EXAMPLE_KEYS: Final = ("kind", "text", "answer")
MAX_RULES: Final = 2_000  # of one file
MAX_PATTERN: Final = 8_000  # characters, with its words put in
MAX_EXAMPLE: Final = 20_000  # code points
ALL: Final = "all"

# A command or a body of code that speaks of an attack is most often somebody's work on one: no phrase blocks it.
_ESCALATE_ONLY: Final = frozenset({TextKind.COMMAND, TextKind.CODE})
_MEANINGS: Final = MappingProxyType({"block": Answer.BLOCK, "escalate": Answer.ESCALATE})
# Of a rule, as they are written and as they may be by mistake; no policy's rule has one of them.
_OWN_KEYS: Final = frozenset({"kinds", "kind", "patterns", "pattern", "secrets", "near"})
_RESERVED_PREFIXES: Final = ("model.", "tier1.")
_NAME = regex(rf"{NAME}\Z")
_WORD = regex(rf"{WORD}\Z")
_ESCAPE = regex(r"\\(.)", re.DOTALL)
_PLACE = regex(rf"\{{\{{({WORD})\}}\}}")


def read_file(raw: bytes, file: str) -> HeuristicFile:
    """A heuristics file's content.

    Raises:
        PolicyError: with file, line, column, key and what to write instead.
    """
    return _Reader(file).heuristics(raw)


def is_heuristics(raw: bytes, file: str) -> bool:
    """Whether this is meant as a heuristics file, and not as a policy: by the keys of its rules.

    Raises PolicyError for what is no YAML of either.
    """
    root = read(raw, file)
    top = {entry.key: entry.value for entry in root.entries} if isinstance(root, Map) else {}
    if "words" in top:
        return True
    rules = top.get("rules")
    items = rules.items if isinstance(rules, List) else ()
    return any(entry.key in _OWN_KEYS for item in items if isinstance(item, Map) for entry in item.entries)


class _Reader(Shape):
    def __init__(self, file: str) -> None:
        super().__init__(file)
        self._words: Mapping[str, str] = {}

    def heuristics(self, raw: bytes) -> HeuristicFile:
        root = read(raw, self.file)
        top = self.mapping(root, "a heuristics file", FILE_KEYS, needed=("version", "name", "rules"))
        self.version(top)
        values = {entry.key: entry.value for entry in top.entries}
        name = self._name(values["name"], "name")
        self._words = self._words_of(values["words"]) if "words" in values else {}
        unless = self._patterns(values["unless"], "unless") if "unless" in values else ()
        despite = self._patterns(values["despite"], "despite") if "despite" in values else ()
        rules = self._rules(values["rules"], unless, despite)
        return HeuristicFile(file=self.file, name=name, rules=rules, content=plain(root))

    def _name(self, node: Node, what: str) -> str:
        name = self.string(node, what)
        if not _NAME.match(name):
            raise self.error(f"`{what}` is 1 to 64 of a-z, 0-9, `.`, `_`, `-`, the first a letter or digit", node.mark)
        return name

    def _words_of(self, node: Node) -> Mapping[str, str]:
        words = {}
        for entry in self.mapping(node, "`words`").entries:
            if not _WORD.match(entry.key):
                raise self.error("a word's name is letters, digits and `_`, the first no digit", entry.mark)
            words[entry.key] = self.string(entry.value, entry.key)
            if not words[entry.key]:
                raise self.error(f"`{entry.key}` is empty", entry.value.mark)
            inner = _PLACE.search(words[entry.key])
            if inner:
                raise self.error(f"`{inner[0]}` stands in a word itself; write its pattern out", entry.value.mark)
        return words

    def _rules(
        self, node: Node, unless: tuple[Pattern, ...], despite: tuple[Pattern, ...]
    ) -> tuple[HeuristicRule, ...]:
        items = self.items(node, "rules")
        if not items:
            raise self.error("`rules` is empty, so the file finds nothing; add a rule or remove the file", node.mark)
        if len(items) > MAX_RULES:
            raise self.error(f"more than {MAX_RULES} rules; split the file", node.mark)
        return tuple(self._rule(item, unless, despite) for item in items)

    def _rule(self, node: Node, unless: tuple[Pattern, ...], despite: tuple[Pattern, ...]) -> HeuristicRule:
        top = self.mapping(node, "a rule", RULE_KEYS, needed=("id", "severity", "kinds", "reason"))
        values = {entry.key: entry for entry in top.entries}
        rule_id = self._name(values["id"].value, "id")
        if rule_id.startswith(_RESERVED_PREFIXES):
            raise self.error(f"the id `{rule_id}` is Shield's own; choose another", values["id"].value.mark, "id")
        if ("patterns" in values) == ("secrets" in values):
            raise self.error("a rule has either `patterns` or `secrets`", top.mark, f"rule `{rule_id}`")
        kinds = self._kinds(values["kinds"].value)
        case = values.get("case")
        if case is not None and "secrets" in values and not {"near", "unless", "despite"} & values.keys():
            raise self.error("`case` is about patterns, and the rule has none; remove it", case.mark)

        def patterns(key: str) -> tuple[Pattern, ...]:
            return self._patterns(values[key].value, key) if key in values else ()

        return HeuristicRule(
            id=rule_id,
            file=self.file,
            mark=values["id"].value.mark,
            severity=Severity(self.choice(values["severity"].value, "severity", Severity)),
            kinds=kinds,
            patterns=patterns("patterns"),
            secrets=self._secrets(values["secrets"].value) if "secrets" in values else frozenset(),
            near=patterns("near"),
            unless=(*patterns("unless"), *unless),
            despite=(*patterns("despite"), *despite),
            case=self._truth(case),
            reason=self.prose(values["reason"].value, "reason"),
            advice=self.prose(values["advice"].value, "advice") if "advice" in values else None,
            examples=self._examples(values["examples"].value, kinds) if "examples" in values else (),
        )

    def _kinds(self, node: Node) -> Mapping[TextKind, Answer]:
        top = self.mapping(node, "`kinds`", tuple(TextKind))
        if not top.entries:
            raise self.error("`kinds` is empty, so the rule could never hold; name a kind of text", node.mark)
        kinds = {}
        for entry in top.entries:
            kind = TextKind(entry.key)
            kinds[kind] = self._meaning(entry.value, entry.key)
            if kinds[kind] is Answer.BLOCK and kind in _ESCALATE_ONLY:
                raise self.error(f"of a {kind} text a phrase may only `escalate`", entry.value.mark, "kinds")
        return MappingProxyType(kinds)

    def _meaning(self, node: Node, what: str) -> Answer:
        return _MEANINGS[self.choice(node, what, _MEANINGS)]

    def _truth(self, entry: Entry | None) -> bool:
        if entry is None:
            return False
        value = entry.value.value if isinstance(entry.value, Scalar) else None
        if not isinstance(value, bool):
            raise self.error(f"`{entry.key}` is true or false", entry.value.mark)
        return value

    def _secrets(self, node: Node) -> frozenset[str]:
        if isinstance(node, Scalar) and node.value == ALL:
            return frozenset(KINDS)
        kinds = []
        for item in self._several(node, "secrets"):
            kind = self.string(item, "secrets")
            if kind not in KINDS:
                near = suggest(kind, KINDS) or f"; the kinds are {', '.join(KINDS)}"
                raise self.error(f"no kind of secret is named `{kind[:64]}`{near}", item.mark, "secrets")
            if kind in kinds:
                raise self.error(f"`{kind}` is named twice", item.mark, "secrets")
            kinds.append(kind)
        return frozenset(kinds)

    def _several(self, node: Node, what: str) -> Sequence[Node]:
        items = self.items(node, what)
        if not items:
            raise self.error(f"`{what}` is empty; add one or remove the key", node.mark)
        return items

    def _patterns(self, node: Node, what: str) -> tuple[Pattern, ...]:
        return tuple(self._pattern(item, what) for item in self._several(node, what))

    def _pattern(self, node: Node, what: str) -> Pattern:
        text = self.string(node, what)
        if not text:
            raise self.error(f"a pattern of `{what}` is empty", node.mark)

        def word(match: re.Match[str]) -> str:
            if match[1] not in self._words:
                near = suggest(match[1], self._words) or "; name it in `words`"
                raise self.error(f"there is no word `{match[1]}`{near}", node.mark, what)
            return f"(?:{self._words[match[1]]})"

        whole = _PLACE.sub(word, text)
        if len(whole) > MAX_PATTERN:
            raise self.error(f"the pattern is longer than {MAX_PATTERN} characters; split it", node.mark, what)
        if any(escape[1] == "C" for escape in _ESCAPE.finditer(whole)):
            detail = "`\\C` is a byte, which may be a part of a letter; write `(?s:.)` for any letter"
            raise self.error(detail, node.mark, what)
        # of a quoted string the place is the string's: escapes in it move what stands behind them
        return Pattern(text=by_block(whole), mark=node.mark)

    def _examples(self, node: Node, kinds: Mapping[TextKind, Answer]) -> tuple[HeuristicExample, ...]:
        examples = []
        for entry in self.mapping(node, "`examples`", ("match", "no_match")).entries:
            for item in self.items(entry.value, entry.key):
                top = self.mapping(item, "an example", EXAMPLE_KEYS, needed=("kind", "text"))
                examples.append(self._example(top, kinds, matches=entry.key == "match"))
        return tuple(examples)

    def _example(self, top: Map, kinds: Mapping[TextKind, Answer], *, matches: bool) -> HeuristicExample:
        values = {entry.key: entry for entry in top.entries}
        kind = TextKind(self.choice(values["kind"].value, "kind", TextKind))
        if kind not in kinds:
            raise self.error(
                f"the rule does not look at {kind} texts, so this shows nothing; add it to `kinds` or take another",
                values["kind"].value.mark,
            )
        answer = values.get("answer")
        if answer is not None and not matches:
            raise self.error("what does not match has no answer; remove `answer`", answer.mark)
        text = self.string(values["text"].value, "text")
        if len(text) > MAX_EXAMPLE:
            raise self.error(f"the example is longer than {MAX_EXAMPLE} characters", values["text"].value.mark)
        return HeuristicExample(
            kind=kind,
            text=text,
            matches=matches,
            answer=self._meaning(answer.value, "answer") if answer is not None else None,
            mark=values["text"].value.mark,
        )
