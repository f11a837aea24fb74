"""From files to a policy set: the baseline, what a policy extends, its own rules, then a workspace's.

Who may weaken what (DESIGN 4): nothing weakens the baseline; the owner's policy lowers or switches off a rule that it
extends only by naming it in `overrides`; a workspace's file adds, under names of its own, and never takes away.
"""

import hashlib
import json
import os
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from shield.errors import PolicyError
from shield.policy.compiled import Rule, compile_rule, read_macros
from shield.policy.examples import check_examples
from shield.policy.names import DEFAULT_RULE
from shield.policy.proven import is_proven
from shield.policy.reader import Mark
from shield.policy.rule import Default, Named, PolicyFile, RuleOrigin, strength
from shield.policy.schema import read_policy
from shield.policy.set import Overlay, PolicySet
from shield.policy.shape import suggest
from shield.policy.shelf import BASELINE, Shelf, read_bounded
from shield.types import Effect, Json

__all__ = ["WORKSPACE_FILE", "add_workspace", "load_overlay", "load_policy", "load_text", "with_workspace"]

WORKSPACE_FILE = ".shield.yaml"
MAX_FILES = 32


def load_policy(reference: str, shelf: Shelf) -> PolicySet:
    """The policy set of a name or a file, ready to judge.

    Raises:
        PolicyError: any file of it does not load; nothing of it is used then.
    """
    loader = _Loader(shelf)
    loader.add_baseline()
    path = shelf.find(reference)
    if path != shelf.find(BASELINE):
        loader.add(path, read_bounded(path))
    return loader.finish(loader.files[-1].name)


def load_text(raw: bytes, file: str, shelf: Shelf) -> PolicySet:
    """As `load_policy`, for a policy that is no file (yet). `extends` paths are relative to `file`'s folder."""
    loader = _Loader(shelf)
    loader.add_baseline()
    loader.add(Path(file), raw)
    return loader.finish(loader.files[-1].name)


def load_overlay(policy: PolicySet, raw: bytes, file: str) -> PolicySet:
    """The set with a workspace's `.shield.yaml` added.

    Raises:
        PolicyError: the file does not load.
    """
    loaded = read_policy(raw, file, RuleOrigin.WORKSPACE)
    macros = read_macros(loaded)
    rules = tuple(compile_rule(text, file, RuleOrigin.WORKSPACE, loaded.lists, macros) for text in loaded.rules)
    for rule in rules:
        check_examples(rule)
    return policy.overlaid(Overlay(rules=rules, file=loaded), _overlaid_digest(policy, raw))


def add_workspace(policy: PolicySet, raw: bytes, file: str) -> PolicySet:
    """As `load_overlay`, but a file that does not load makes every action there a person's decision."""
    try:
        return load_overlay(policy, raw, file)
    except PolicyError as error:
        return policy.overlaid(Overlay(error=str(error)), _overlaid_digest(policy, raw))


def with_workspace(policy: PolicySet, root: Path) -> PolicySet:
    """The set as it holds in the workspace `root`: with its `.shield.yaml` if there is one.

    A link, a directory or a file that cannot be read in that place counts as one that does not load.
    """
    path = root / WORKSPACE_FILE
    try:
        if not os.path.lexists(path):
            return policy
        if path.is_symlink():
            raise PolicyError("is a link; put the file itself there", file=str(path))
        raw = read_bounded(path)
    except (PolicyError, OSError, ValueError) as error:
        return policy.overlaid(Overlay(error=str(error)), _digest(["workspace", policy.digest, "unreadable"]))
    return add_workspace(policy, raw, str(path))


def _overlaid_digest(policy: PolicySet, raw: bytes) -> str:
    return _digest(["workspace", policy.digest, hashlib.sha256(raw).hexdigest()])


def _digest(content: Json) -> str:
    # Strings, whole numbers, booleans, null only: the reader lets nothing else through, so this form is canonical.
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return f"sha256:{hashlib.sha256(canonical.encode('ascii')).hexdigest()}"


@dataclass(slots=True)
class _Layer:
    """What one file and all that it extends amount to."""

    rules: dict[str, Rule] = field(default_factory=dict)
    default: Default | None = None


class _Loader:
    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self.files: list[PolicyFile] = []
        self._layers: dict[Path, _Layer] = {}
        self._open: list[Path] = []
        self._baseline: dict[str, Rule] = {}
        self._overridden: dict[str, None] = {}
        self._top = _Layer()

    def add_baseline(self) -> None:
        path = self._shelf.find(BASELINE)
        layer = self._layer(path, read_bounded(path), RuleOrigin.BASELINE)
        self._baseline = layer.rules
        self._layers[path.resolve()] = _Layer()

    def add(self, path: Path, raw: bytes) -> None:
        self._top = self._layer(path, raw, RuleOrigin.OWNER)

    def finish(self, name: str) -> PolicySet:
        return PolicySet(
            name=name,
            digest=_digest(["shield-policy-1", *(file.content for file in self.files)]),
            rules=(*self._baseline.values(), *self._top.rules.values()),
            default=self._top.default or Default(),
            overridden=tuple(self._overridden),
            files=tuple(self.files),
        )

    def _layer(self, path: Path, raw: bytes, origin: RuleOrigin) -> _Layer:
        key = path.resolve()
        if key in self._layers:
            return self._layers[key]
        file = _read(raw, str(path), origin)
        if len(self.files) + len(self._open) >= MAX_FILES:
            raise PolicyError(f"more than {MAX_FILES} files extend one another", file=str(path))
        self._open.append(key)
        layer = _Layer()
        for named in file.extends:
            self._extend(layer, file, path, named)
        self._open.pop()
        self._override(layer, file)
        for rule in _compiled(raw, str(path), origin):
            other = layer.rules.get(rule.id) or self._baseline.get(rule.id)
            # a rule as strong as the baseline's of that id stands beside it: both are in force
            if other is not None and not (rule.id not in layer.rules and _adds(rule, other)):
                raise _error(file, rule.text.mark, _taken(rule.id, other))
            layer.rules[rule.id] = rule
        self.files.append(file)
        self._layers[key] = layer
        return layer

    def _extend(self, layer: _Layer, file: PolicyFile, path: Path, named: Named) -> None:
        try:
            target = self._shelf.find(named.name, beside=path.parent)
            if target.resolve() in self._open:
                raise PolicyError(f"`{named.name}` extends this file in turn; remove one of the two")
            known = self._layers.get(target.resolve())
            below = known or self._layer(target, read_bounded(target), RuleOrigin.OWNER)
        except PolicyError as error:
            if error.line is not None:
                raise
            raise _error(file, named.mark, error.detail) from None
        for rule in below.rules.values():
            other = layer.rules.get(rule.id)
            if other is not None and other is not rule:
                raise _error(file, named.mark, _taken(rule.id, other))
            layer.rules[rule.id] = rule
        if below.default is not None:
            layer.default = _stricter(layer.default, below.default)

    def _override(self, layer: _Layer, file: PolicyFile) -> None:
        lowered = {named.name for named in file.overrides}
        for named in file.overrides:
            if named.name in self._baseline:
                raise _error(file, named.mark, f"`{named.name[:64]}` is of the baseline, which nothing weakens")
            if named.name == DEFAULT_RULE and layer.default is not None and file.default is not None:
                continue
            if layer.rules.pop(named.name, None) is None:
                near = suggest(named.name, layer.rules) or "; name a rule of a policy in `extends`"
                raise _error(file, named.mark, f"`overrides` names no extended rule: `{named.name[:64]}`{near}")
        self._overridden.update(dict.fromkeys(sorted(lowered)))
        if file.default is None:
            return
        if layer.default is not None and DEFAULT_RULE not in lowered:
            below = layer.default
            if strength(file.default.effect, file.default.to) < strength(below.effect, below.to):
                raise _error(
                    file,
                    file.default.mark,
                    "this default is weaker than the one it extends; raise it or add `overrides: [default]`",
                )
        layer.default = file.default


@lru_cache(maxsize=MAX_FILES)
def _read(raw: bytes, file: str, origin: RuleOrigin) -> PolicyFile:
    """What a file says. Of these bytes, under this name, it is the same each time: most of a policy that is loaded
    again, and of two that are compared, are files which did not change."""
    return read_policy(raw, file, origin)


@lru_cache(maxsize=MAX_FILES)
def _compiled(raw: bytes, file: str, origin: RuleOrigin) -> tuple[Rule, ...]:
    """Its rules, their examples tried unless that was done when it was released. Raises PolicyError, which is not
    kept."""
    read, proven = _read(raw, file, origin), is_proven(raw)
    macros = read_macros(read, proven=proven)
    rules = tuple(compile_rule(text, file, origin, read.lists, macros, proven=proven) for text in read.rules)
    if not proven:
        for rule in rules:
            check_examples(rule)
    return rules


def _stricter(one: Default | None, other: Default) -> Default:
    if one is None:
        return other
    return max(one, other, key=lambda default: strength(default.effect, default.to))


def _adds(rule: Rule, baseline: Rule) -> bool:
    return rule.effect is not Effect.ALLOW and strength(rule.effect, rule.tier) >= strength(
        baseline.effect, baseline.tier
    )


def _taken(rule_id: str, other: Rule) -> str:
    where = f"{other.file}:{other.text.mark.line}"
    if other.origin is RuleOrigin.BASELINE:
        return (
            f"the id `{rule_id}` is taken by the baseline, which nothing weakens ({where}); "
            "choose another id, or make the rule as strong"
        )
    return f"the id `{rule_id}` is taken ({where}); choose another, or replace that rule with `overrides: [{rule_id}]`"


def _error(file: PolicyFile, mark: Mark, detail: str) -> PolicyError:
    return PolicyError(detail, file=file.file, line=mark.line, column=mark.column)
