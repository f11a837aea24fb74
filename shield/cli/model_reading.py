"""Tier 1 for a command line: the heuristics and, where there is one, the classifier, loaded at once."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shield.cli.model_report import Scanned
from shield.cli.model_rows import Row
from shield.config.home import home_from
from shield.config.loading import load
from shield.config.model_folder import SHIPPED, model_folder, model_found
from shield.errors import ConfigError
from shield.heuristics.load import HEURISTICS, load_heuristics
from shield.resources import data_folder
from shield.tiers.classifier import ClassifierTier
from shield.tiers.judged import Text
from shield.tiers.loading import load_tier1
from shield.tiers.texts import CLASSIFIER, TextJudge
from shield.tiers.witnesses import MODEL_READY, NO_MODEL

if TYPE_CHECKING:
    from shield.heuristics.scan import Heuristics
    from shield.model.scorer import Scorer

__all__ = ["Reader", "folder_of", "judge_of", "reader", "scorer_of", "tier1"]

_LONG = "not all of it was read: it is too long, or holds too much that is encoded; split it"
_VARIABLE = "SHIELD_TIER1__MODEL"
_READ = "it reads like an instruction to an agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """What reads texts; `lacking` says what of tier 1 is not there, `reasons` why a rule speaks."""

    judge: TextJudge
    reasons: Mapping[str, str]
    lacking: str | None

    def scan(self, rows: Sequence[Row]) -> Iterator[Scanned]:
        """One for each row, in order. A text that the classifier breaks over takes no other one with it."""
        texts = [Text(text=row.text, kind=row.kind) for row in rows]
        for row, text, judged in zip(rows, texts, self.judge.judge(texts), strict=True):
            failed = judged.trouble is not None and self.judge.model is not NO_MODEL
            found = self.judge.judge([text])[0] if failed and len(rows) > 1 else judged
            failed = failed and found.trouble is not None
            unread = [
                *([] if row.unread is None else [row.unread]),
                *([f"the classifier did not read it: {found.trouble}"] if failed else [] if found.whole else [_LONG]),
            ]
            yield Scanned(
                row=row,
                findings=found.findings,
                score=found.score,
                unread="; ".join(unread) or None,
                failed=failed,
            )


def reader(environ: Mapping[str, str], *, model: str | None, without: bool) -> Reader:
    """The shipped heuristics and the owner's, with the classifier of this name or folder, else the one that shield.toml
    names.

    Where the shipped model is not installed that is said and done without; one that is named and not there, or does
    not load, is an error.

    Raises:
        ConfigError, ModelError, PolicyError: what is wrong, and what to do.
    """
    heuristics = load_heuristics(data_folder(HEURISTICS), Path(home_from(environ).heuristics))
    folder = None if without else folder_of(model, environ, instead=", or read with the rules alone by `--no-model`")
    lacking = None if without or folder is not None else "there is no classifier, these are the heuristics alone"
    return Reader(
        judge=judge_of(None if folder is None else scorer_of(folder), heuristics),
        reasons={name: rule.reason for name, rule in heuristics.rules.items()} | {CLASSIFIER: _READ},
        lacking=lacking,
    )


def scorer_of(folder: Path, *, seeing: bool = True) -> "Scorer":
    """The model in this folder; see `load_scorer`. Raises ModelError."""
    from shield.model.directory import naming
    from shield.model.scorer import load_scorer  # heavy

    with naming(folder):
        return load_scorer(folder, seeing=seeing)


def tier1(environ: Mapping[str, str]) -> ClassifierTier:
    """Tier 1 as the service has it, with the classifier that shield.toml names; what does not load never consents.

    Raises:
        ConfigError: shield.toml does not load, or names what is no name.
    """
    home = home_from(environ)
    model = model_found(load(home, environ).tier1.model, home)
    return load_tier1(data_folder(HEURISTICS), model, own=Path(home.heuristics))


@dataclass(frozen=True, slots=True)
class _Ready:
    """A model that was not waited for."""

    scorer: "Scorer"
    state: str = MODEL_READY


def judge_of(scorer: "Scorer | None", heuristics: "Heuristics") -> TextJudge:
    """Both together, or the heuristics alone."""
    return TextJudge(heuristics, NO_MODEL if scorer is None else _Ready(scorer))


def folder_of(model: str | None, environ: Mapping[str, str], *, instead: str = "") -> Path | None:
    """The folder of the model: `model` is a folder where it has a `/` in it, else a name. None if none was named and
    the shipped one is not there. `instead` is what the command can do without the model.

    Raises:
        ConfigError: the one that is named, here or in shield.toml, is not there.
    """
    home = home_from(environ)
    if model is None:
        config = load(home, environ)
        folder = model_found(config.tier1.model, home)
        if folder is None or folder.is_dir():
            return folder
        if config.tier1.model == SHIPPED:
            return None
        # the owner chose it: what it would have said is not made up by silence
        where = _VARIABLE if _VARIABLE in environ else home.toml
        raise ConfigError(
            f"{where}: `tier1.model` names `{config.tier1.model}`, and there is no folder `{folder}`; adopt it with"
            f" `shield model use DIR`, name another one{instead}"
        )
    folder = Path(model) if os.sep in model else model_folder(model, home)
    if not folder.is_dir():
        raise ConfigError(f"there is no folder `{folder}`; adopt a model with `shield model use DIR`")
    return folder
