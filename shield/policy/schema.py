"""What a policy file says beside its rules. Whatever is not listed in `shield.policy.keys` is a load error."""

from collections.abc import Mapping
from types import MappingProxyType

from shield.policy.keys import DEFAULT_EFFECTS, FILE_KEYS, TO, WORKSPACE_KEYS
from shield.policy.names import MACRO, WORD
from shield.policy.reader import Map, Node, Scalar, plain, read
from shield.policy.rule import Default, MacroText, Named, PolicyFile, RuleOrigin, RuleText
from shield.policy.rule_reader import RuleReader
from shield.regex import regex
from shield.types import Effect

__all__ = ["read_policy"]

_WORD = regex(rf"{WORD}\Z")
_MACRO = regex(rf"{MACRO}\Z")


def read_policy(raw: bytes, file: str, origin: RuleOrigin = RuleOrigin.OWNER) -> PolicyFile:
    """A policy file's content. A workspace's file may hold less (DESIGN "Who may weaken what").

    Raises:
        PolicyError: with file, line, column, key and what to write instead.
    """
    return _PolicyReader(file, origin).policy(raw)


class _PolicyReader(RuleReader):
    def policy(self, raw: bytes) -> PolicyFile:
        root = read(raw, self.file)
        if self._workspace and isinstance(root, Map):
            for entry in root.entries:
                if entry.key in FILE_KEYS and entry.key not in WORKSPACE_KEYS:
                    raise self.error(f"a workspace's policy may not hold `{entry.key}`; remove it", entry.mark)
        keys = WORKSPACE_KEYS if self._workspace else FILE_KEYS
        top = self.mapping(root, "a policy", keys, needed=("version",))
        self.version(top)
        name = "workspace" if self._workspace else ""
        extends: tuple[Named, ...] = ()
        overrides: tuple[Named, ...] = ()
        default: Default | None = None
        lists: Mapping[str, tuple[str, ...]] = MappingProxyType({})
        macros: Mapping[str, MacroText] = MappingProxyType({})
        agents, enforce = self.agents_of(top), self.enforce_of(top)
        self._refuse_partial(top, agents, enforce)
        rules: tuple[RuleText, ...] = ()
        for entry in top.entries:
            match entry.key:
                case "name":
                    name = self.name(entry.value, "name")
                case "extends":
                    extends = self.named(entry)
                case "overrides":
                    overrides = self.named(entry)
                case "default":
                    default = self._default(entry.value)
                case "lists":
                    lists = self._lists(entry.value)
                case "macros":
                    macros = self._macros(entry.value)
                case "rules":
                    rules = self.rules(entry.value, agents, enforce)
        if not name:
            raise self.error("a policy needs the key `name`", top.mark)
        return PolicyFile(
            file=self.file,
            content=plain(root),
            name=name,
            extends=extends,
            overrides=overrides,
            default=default,
            lists=lists,
            macros=macros,
            rules=rules,
        )

    def _refuse_partial(self, top: Map, agents: frozenset[str] | None, enforce: bool) -> None:
        """What is tried, or is for some agents, must not change what holds for the others."""
        why = "is for some agents only" if agents is not None else "is not enforced" if not enforce else None
        for key in ("default", "overrides") if why is not None else ():
            entry = top.get(key)
            if entry is not None:
                raise self.error(f"a file that {why} may not hold `{key}`, which holds for all; move it", entry.mark)

    def _default(self, node: Node) -> Default:
        top = self.mapping(node, "`default`", ("effect", "to"), needed=("effect",))
        effect_entry, to_entry = top.get("effect"), top.get("to")
        assert effect_entry is not None
        if isinstance(effect_entry.value, Scalar) and effect_entry.value.value == "allow":
            raise self.error("the default is never `allow`; write `escalate` or `block`", effect_entry.value.mark)
        effect = Effect(self.choice(effect_entry.value, "effect", DEFAULT_EFFECTS))
        if to_entry is None:
            return Default(effect=effect, mark=node.mark)
        if effect is Effect.BLOCK:
            raise self.error("`to` belongs to `effect: escalate`; remove it", to_entry.mark)
        return Default(effect=effect, to=self.tier(to_entry.value, "to", TO), mark=node.mark)

    def _lists(self, node: Node) -> Mapping[str, tuple[str, ...]]:
        lists = {}
        for entry in self.mapping(node, "`lists`").entries:
            if not _WORD.match(entry.key):
                raise self.error("a list's name is letters, digits and `_`, the first no digit", entry.mark)
            lists[entry.key] = tuple(
                dict.fromkeys(self.string(item, entry.key) for item in self.items(entry.value, entry.key))
            )
        return MappingProxyType(lists)

    def _macros(self, node: Node) -> Mapping[str, MacroText]:
        macros: dict[str, MacroText] = {}
        for entry in self.mapping(node, "`macros`").entries:
            if not _MACRO.match(entry.key):
                raise self.error("a macro is named `word` or `word(parameter, …)`", entry.mark)
            name, _, rest = entry.key.partition("(")
            params = tuple(param.strip() for param in rest.removesuffix(")").split(",")) if rest else ()
            if name in macros:
                raise self.error(f"the macro `{name}` is given twice; rename one", entry.mark)
            if len(set(params)) != len(params):
                raise self.error("a parameter is named twice; rename one", entry.mark)
            text = self.condition(entry.value, f"macro `{name}`")
            macros[name] = MacroText(name=name, params=params, text=text, mark=entry.mark)
        return MappingProxyType(macros)
