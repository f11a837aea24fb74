"""Tier 1 put together of what lies on disk: the heuristics and the model, at once or behind a service's back.

Nothing here raises for what cannot be loaded: it is said (`failed: …`), and what needed it goes to a person.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from shield.errors import ShieldError
from shield.heuristics.load import load_heuristics
from shield.model.holder import ModelHolder
from shield.model.scorer import load_scorer
from shield.tiers.classifier import ClassifierTier
from shield.tiers.texts import TextJudge
from shield.tiers.witnesses import MODEL_READY, NO_MODEL, Model, NoRulesError, Reader, Rule, Rules
from shield.types import TextFinding, TextKind

__all__ = ["HeldRules", "load_tier1", "start_tier1", "stop_tier1"]

_STOP_S = 15.0


class HeldRules:
    """Heuristics that are loaded later. Until then a scan raises; also where that fails, unless `rest` loads what is
    left without the part that may be at fault."""

    def __init__(self, load: Callable[[], Rules], *, rest: Callable[[], Rules] | None = None) -> None:
        self._load = load
        self._rest = rest
        self._loaded: Rules | None = None
        self._named = ""
        self._read = threading.Event()
        self._thread = threading.Thread(target=self.load, name="heuristics", daemon=True)
        self.state = "loading"

    def start(self) -> None:
        """Load in the background."""
        self._thread.start()

    def join(self, within_s: float) -> None:
        """Wait until the background has nothing to do any more."""
        if self._thread.is_alive():
            self._thread.join(within_s)

    def load(self) -> None:
        """Load now. Never raises."""
        try:
            loaded = self._load()
            self._named = loaded.digest
            self._read.set()
            self._loaded = _compiled(loaded)
            self.state = MODEL_READY
        except Exception as error:  # noqa: BLE001  # what is not loaded is not silent, whatever kept it from it
            self._read.set()
            self._loaded = self._left()
            # INVARIANT: never ready, whatever is left, so that nothing is allowed by it
            self.state = _failed(error)

    def _left(self) -> Rules | None:
        """What loads without the part that may be at fault; None where nothing does, which a scan says."""
        try:
            return None if self._rest is None else _compiled(self._rest())
        except Exception:  # noqa: BLE001  # the first error is the one that is said
            return None

    def named(self, within_s: float) -> str:
        """The digest of what was read, which is known long before it is compiled; empty where nothing was."""
        self._read.wait(within_s)
        return self._named

    def broken(self) -> str | None:
        """Why some rules are not there, or none; None where all are."""
        return None if self.state == MODEL_READY else self.state

    @property
    def digest(self) -> str:
        """That of the rules which read now."""
        return "" if self._loaded is None else self._loaded.digest

    @property
    def rules(self) -> Mapping[str, Rule]:
        return MappingProxyType({}) if self._loaded is None else self._loaded.rules

    def scan(self, text: str, kind: TextKind, /) -> Sequence[TextFinding]:
        """Raises NoRulesError."""
        if self._loaded is None:
            raise NoRulesError(self.state)
        return self._loaded.scan(text, kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """A model that was loaded at once, or why it was not; see `shield.tiers.texts.Model`."""

    state: str
    scorer: Reader | None = None


def load_tier1(heuristics: Path, model: Path | None, *, own: Path | None = None) -> ClassifierTier:
    """Tier 1 from these folders, loaded now; for a command line. `model` None: heuristics alone. `own`: see
    `load_heuristics`."""
    rules = _rules(heuristics, own)
    rules.load()
    return _tier(rules, NO_MODEL if model is None else _model(model))


def start_tier1(heuristics: Path, model: Path | None, *, own: Path | None = None) -> ClassifierTier:
    """The same, loaded in the background; for a service, which answers before that is done."""
    rules = _rules(heuristics, own)
    rules.start()
    return _tier(rules, NO_MODEL if model is None else _behind(model))


def stop_tier1(tier: ClassifierTier) -> None:
    """Wait until nothing of it runs any more.

    INVARIANT: no thread is inside of a C++ library when the interpreter ends, or it takes the process down with it.
    """
    tier.threads.close(_STOP_S)
    rules, model = tier.texts.rules, tier.texts.model
    if isinstance(rules, HeldRules):
        rules.join(_STOP_S)
    if isinstance(model, ModelHolder):
        model.wait(_STOP_S)


def _rules(heuristics: Path, own: Path | None) -> HeldRules:
    """An error in what the owner added leaves those that ship."""
    rest = None if own is None else lambda: load_heuristics(heuristics)
    return HeldRules(lambda: load_heuristics(heuristics, own), rest=rest)


def _tier(rules: HeldRules, model: Model) -> ClassifierTier:
    return ClassifierTier(texts=TextJudge(rules, model, broken=rules.broken))


def _compiled(rules: Rules) -> Rules:
    """What is compiled at the first look is compiled, and found to be in order, before the first call needs it."""
    rules.scan("", TextKind.PROSE)
    return rules


def _failed(error: Exception) -> str:
    return f"failed: {error if isinstance(error, ShieldError) else error.__class__.__name__}"


def _model(folder: Path) -> Model:
    try:
        return _Loaded(state=MODEL_READY, scorer=load_scorer(folder))
    except Exception as error:  # noqa: BLE001  # whatever it is, there is no model
        return _Loaded(state=_failed(error))


def _behind(folder: Path) -> Model:
    holder = ModelHolder(folder)
    holder.start()
    return holder
