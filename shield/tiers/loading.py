"""Tier 1 put together of what lies on disk: the heuristics and the model, at once or behind a service's back.

Nothing here raises for what cannot be loaded: it is said (`failed: …`), and what needed it goes to a person.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from shield.errors import ModelError, ShieldError
from shield.heuristics.load import load_heuristics
from shield.model.holder import ModelHolder
from shield.model.scorer import load_scorer
from shield.tiers.classifier import ClassifierTier
from shield.tiers.texts import TextJudge
from shield.tiers.witnesses import MODEL_READY, NO_MODEL, Model, NoRulesError, Reader, Rule, Rules
from shield.types import TextFinding, TextKind

__all__ = ["Halt", "HeldRules", "load_tier1", "start_tier1", "stop_tier1"]

_STOP_S = 15.0


class Halt:
    """Ends loading early: whatever loads looks between its steps whether it is still wanted."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def ask(self) -> None:
        """Load no further. What has been loaded stays."""
        self._asked.set()

    def look(self) -> None:
        """Raises ModelError once it has been asked for."""
        if self._asked.is_set():
            raise ModelError("Shield was stopped while it was being loaded; start Shield anew")


class HeldRules:
    """Heuristics that are loaded later. Until then a scan raises; also where that fails, unless `rest` loads what is
    left without the part that may be at fault. `halt` is what both look at."""

    def __init__(
        self, load: Callable[[], Rules], *, rest: Callable[[], Rules] | None = None, halt: Halt | None = None
    ) -> None:
        self._load = load
        self._rest = rest
        self.halt = halt or Halt()
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
    rules = _rules(heuristics, own, Halt())
    rules.load()
    return _tier(rules, NO_MODEL if model is None else _model(model))


def start_tier1(heuristics: Path, model: Path | None, *, own: Path | None = None) -> ClassifierTier:
    """The same, loaded in the background; for a service, which answers before that is done."""
    halt = Halt()
    rules = _rules(heuristics, own, halt)
    rules.start()
    return _tier(rules, NO_MODEL if model is None else _behind(model, halt))


def stop_tier1(tier: ClassifierTier) -> None:
    """End what is still being loaded where that can end, and wait until nothing of it runs any more.

    INVARIANT: no thread is inside of a C++ library when the interpreter ends, or it takes the process down with it.
    """
    rules, model = tier.texts.rules, tier.texts.model
    if isinstance(rules, HeldRules):
        rules.halt.ask()
    tier.threads.close(_STOP_S)
    if isinstance(rules, HeldRules):
        rules.join(_STOP_S)
    if isinstance(model, ModelHolder):
        model.wait(_STOP_S)


def _rules(heuristics: Path, own: Path | None, halt: Halt) -> HeldRules:
    """An error in what the owner added leaves those that ship."""
    rest = None if own is None else partial(load_heuristics, heuristics, step=halt.look)
    return HeldRules(partial(load_heuristics, heuristics, own, step=halt.look), rest=rest, halt=halt)


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


def _behind(folder: Path, halt: Halt) -> Model:
    holder = ModelHolder(folder, load=partial(load_scorer, step=halt.look))
    holder.start()
    return holder
