"""`shield model calibrate`: thresholds of an adopted model, by what is honest here."""

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shield.cli.render import compact, shown
from shield.cli.terminal import confirm, terminal
from shield.config.home import Home, home_from
from shield.config.loading import load
from shield.config.model_folder import SHIPPED, model_folder
from shield.errors import ConfigError
from shield.types import TextKind

if TYPE_CHECKING:
    from shield.model.calibration import Calibration
    from shield.model.scorer import Scorer
    from shield.tiers.judged import Text
    from shield.tiers.texts import TextJudge

__all__ = ["calibrate"]

Margins = Mapping[TextKind, Sequence[float]]
_BATCH = 64  # texts between two words of progress
_LEAST_BLOCK = 999  # from which on a kind may be blocked; see its BLOCK_RATE
_LEAST = 49  # texts of a kind that thresholds can rest on; see shield.model.calibration.ESCALATE_RATE


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """Margins of the texts of a file by kind, and how many texts say too little to be read."""

    margins: Margins
    silent: int


@click.command("calibrate", short_help="Set an adopted model's thresholds by benign texts.")
@click.argument("name", required=False)
@click.option("--benign", required=True, metavar="FILE", help="Honest texts, as many as you have of each kind.")
@click.option("--attacks", metavar="FILE", help="Attacks, to show how many would be caught and to scale the score.")
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in TextKind]),
    help="Each line of the files is a text of this kind, not JSON.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def calibrate(name: str | None, *, benign: str, attacks: str | None, kind: str | None, as_json: bool) -> None:
    """Set from which margin on the adopted model NAME asks and blocks, for each kind of text in FILE: asks at 2 % of
    the benign texts or fewer, blocks at 0.1 %. That takes at least 49 and 999 texts of a kind; commands and code are
    never blocked. A text that comes again counts once. Kinds that FILE does not have keep their thresholds.

    FILE has JSON lines {"id": …, "text": …, "kind": …}. Default for NAME: what shield.toml names.

    Exit codes: 0 calibrated; 1 not confirmed; 2 an error, or too few texts of every kind.
    """
    from shield.cli.model_reading import judge_of, scorer_of
    from shield.heuristics.scan import Heuristics
    from shield.model.calibration import Calibration, fit_calibration

    home = home_from(os.environ)
    folder = _adopted(name, home)
    wanted = TextKind(kind) if kind is not None else None
    # reading takes minutes: what is wrong with the files, and who cannot be asked, is told before
    texts = _distinct(benign, _texts(benign, wanted))
    hostile_texts = [] if attacks is None else _distinct(attacks, _texts(attacks, wanted))
    _enough(benign, Counter(text.kind for text in texts))
    with terminal():
        pass
    scorer = scorer_of(folder, seeing=False)
    judge = judge_of(scorer, Heuristics((), ""))
    honest, hostile = _read(texts, judge), _read(hostile_texts, judge)
    _enough(benign, {kind: len(margins) for kind, margins in honest.margins.items()})
    fitted = fit_calibration(honest.margins, attacks=hostile.margins)
    calibration = Calibration(
        temperature=fitted.temperature if hostile.margins else scorer.calibration.temperature,
        kinds={**scorer.calibration.kinds, **fitted.kinds},
    )
    scorer.check_sight(calibration)
    for line in (*_notes(honest, hostile, fitted), *_unblocked(scorer.calibration, fitted)):
        click.echo(line, err=True)
    table = "\n".join(_table(fitted, honest.margins, hostile.margins))
    question = (
        f"{table}\nfrom these margins on, which that share of the texts reaches, the model in\n"
        f"  {shown(str(folder))}\nwill ask and block"
    )
    if not confirm(question, term=os.environ.get("TERM", "")):
        click.echo("nothing was changed", err=True)
        raise SystemExit(1)
    _write(folder, scorer, calibration)
    if as_json:
        click.echo(compact({"folder": str(folder), "calibration": calibration.as_json()}))
    else:
        click.echo(f"calibrated  {shown(str(folder))}: {', '.join(fitted.kinds)}")
    click.echo("a running Shield takes it at its next start", err=True)


def _adopted(name: str | None, home: Home) -> Path:
    from shield.cli.model_store import check_own

    called = load(home, os.environ).tier1.model if name is None else name
    if called == SHIPPED:
        raise ConfigError(
            "the thresholds of the shipped model are part of the release; adopt a copy of its folder, which"
            " `shield model info` names, with `shield model use DIR --name mine`, and calibrate `mine`"
        )
    folder = model_folder(called, home)
    if not folder.is_dir():
        raise ConfigError(f"there is no adopted model `{called}`; adopt one with `shield model use DIR`")
    check_own(folder)
    return folder


def _texts(file: str, kind: TextKind | None) -> "list[Text]":
    """The lines of a file. Raises ConfigError: it cannot be read, or a line holds no text."""
    from shield.cli.model_rows import Row, batches, opened, plain_row, read_row
    from shield.tiers.judged import Text

    texts = []
    with opened(file) as source:
        for line in (line for batch in batches(source) for line in batch):
            row = plain_row(*line, kind) if kind is not None else read_row(*line, None)
            if not isinstance(row, Row):
                raise ConfigError(f"`{file}`, line {row.line}: {row.error.detail}; mend it, nothing was changed")
            texts.append(Text(text=row.text, kind=row.kind, where=file))
    return texts


def _distinct(file: str, texts: "Sequence[Text]") -> "list[Text]":
    """Each text once: a rank among copies of one text says nothing of the next one. What is left out is said."""
    found = {(text.kind, text.text): text for text in texts}
    left_out = Counter(text.kind for text in texts) - Counter(kind for kind, _ in found)
    for kind, count in left_out.items():
        click.echo(
            f"`{shown(file)}`: {count:,} repeats of {kind.value} texts were left out: each counts once", err=True
        )
    return list(found.values())


def _enough(file: str, counts: Mapping[TextKind, int]) -> None:
    most = max(counts.values(), default=0)
    if most < _LEAST:
        raise ConfigError(
            f"`{file}` has at most {most} different texts of a kind that can be read; at least {_LEAST} are needed"
        )


def _read(texts: "Sequence[Text]", judge: "TextJudge") -> _Read:
    """What the model says of each text, as tier 1 would have it read: the highest margin of all views of the text.

    Raises:
        ConfigError: a text that the model failed on.
    """
    from shield.cli.progress import Progress

    margins: dict[TextKind, list[float]] = {}
    silent = 0
    with Progress() as tick:
        for at in range(0, len(texts), _BATCH):
            batch = texts[at : at + _BATCH]
            for found in judge.judge(batch):
                if found.trouble is not None:
                    raise ConfigError(f"the model cannot read `{found.text.where}`: {found.trouble}")
                if found.margin is None:
                    silent += 1
                else:
                    margins.setdefault(found.text.kind, []).append(found.margin)
            tick("texts", len(batch))
    return _Read(margins=margins, silent=silent)


def _notes(honest: _Read, hostile: _Read, fitted: "Calibration") -> Iterator[str]:
    if honest.silent + hostile.silent:
        yield f"{honest.silent + hostile.silent:,} texts say too little to be read by the model and were left out"
    for kind, margins in honest.margins.items():
        if kind not in fitted.kinds:
            few = f"{len(margins)} different benign texts are too few, at least {_LEAST} are needed"
            yield f"{kind.value}: {few}; left as it was"


def _unblocked(before: "Calibration", fitted: "Calibration") -> Iterator[str]:
    """Which kinds are blocked no more, and why."""
    for kind, found in fitted.kinds.items():
        known = before.kinds.get(kind)
        if known is not None and known.block is not None and found.block is None:
            few = f"{found.benign:,} different benign texts are too few to block by, at least {_LEAST_BLOCK} are needed"
            yield f"{kind.value}: it blocks from {known.block:.2f} now, and would never block: {few}"


def _table(fitted: "Calibration", honest: Margins, hostile: Margins) -> Iterator[str]:
    """A line for each kind: how much of what was read would be asked about and blocked."""
    yield "kind          texts  asks from   benign  attacks  blocks from   benign  attacks"
    for kind, found in fitted.kinds.items():
        shares = (
            f"{found.escalate:>11.2f}{_share(honest.get(kind), found.escalate):>9}"
            f"{_share(hostile.get(kind), found.escalate):>9}"
        )
        if found.block is None:
            shares += f"{'never':>13}"
        else:
            shares += (
                f"{found.block:>13.2f}{_share(honest.get(kind), found.block):>9}"
                f"{_share(hostile.get(kind), found.block):>9}"
            )
        yield f"{kind.value:<12}{found.benign:>8,}{shares}"


def _share(margins: Sequence[float] | None, threshold: float) -> str:
    """How many of these reach the threshold, in per cent; `-` where there are none."""
    if not margins:
        return "-"
    return f"{100 * sum(margin >= threshold for margin in margins) / len(margins):.2f} %"


def _write(folder: Path, scorer: "Scorer", calibration: "Calibration") -> None:
    from shield.cli.model_store import rewrite
    from shield.model.directory import CALIBRATION, MANIFEST
    from shield.model.manifest import Pin

    raw = (json.dumps(calibration.as_json(), indent=1) + "\n").encode()
    manifest = replace(scorer.manifest, files={**scorer.manifest.files, CALIBRATION: Pin.of(raw)})
    rewrite(folder, {CALIBRATION: raw, MANIFEST: manifest.as_json()})
