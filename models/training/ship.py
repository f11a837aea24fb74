"""`python -m models.training.ship RUN OUT`: out of a finished training the model folder that is shipped.

RUN is a folder of `models.training`: `settled/` (weights, configuration, tokenizer), `calibration.jsonl` (harmless
texts that set the thresholds) and `held.jsonl` (what the card reports). OUT is made anew, and only if all of it holds.
With `--graph MODEL` the graph is that of a shipped model, and only thresholds and figures are made anew: RUN then needs
no more than the rows (`python -m models.training --rows`).
"""

import argparse
import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import islice
from math import inf, isfinite
from pathlib import Path
from random import Random
from typing import TextIO

from tokenizers import Tokenizer
from transformers import DebertaV2ForSequenceClassification

from models.training.banks import BANKS, digests, load_banks
from models.training.card import Card, card
from models.training.compare import by_source
from models.training.compose import attacks
from models.training.course import STAGE_FILE, TRAINED_FOLDER
from models.training.export import Parity, compared, export
from models.training.judging import judged
from models.training.row import KINDS, WRITTEN_HARD, Row, read_rows
from models.training.vocabulary import SPECIAL, Vocabulary
from models.training.wide import WithWide, load_wide
from shield.model.calibration import Calibration, fit_calibration
from shield.model.manifest import Manifest, Pin
from shield.model.scorer import load_scorer
from shield.types import Json, TextKind

__all__ = ["Limits", "ShipError", "ship"]

WINDOW, STRIDE = 128, 64
_HEURISTICS = BANKS.parents[2] / "policies" / "heuristics"
_PARITY_ROWS = 2_000
_PACKAGES = ("onnx", "onnxruntime", "optimum", "optimum-onnx", "tokenizers", "torch", "transformers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """`size` of the folder in bytes; `margin` by which the folded graph may differ from the trained model; `flips`,
    the share of texts that 8 bits may put on the other side of one half."""

    size: int = 25_000_000
    margin: float = 1e-4
    flips: float = 0.005


class ShipError(Exception):
    """A model that is not fit to be shipped: what is wrong with it."""


LIMITS = Limits()


def ship(
    run: Path,
    out: Path,
    *,
    today: str,
    limits: Limits = LIMITS,
    graph: Path | None = None,
    hostile: int = 1_500,
    log: TextIO = sys.stderr,
) -> Manifest:
    """The manifest of the folder `out`, whose files are complete, checked and loaded once. `graph` is the folder of a
    shipped model whose graph, configuration and tokenizer are taken as they are. `hostile` generated attacks help to
    find the temperature.

    Raises:
        ShipError: the graph differs from the trained model, or the folder is too large.
    """
    held, harmless = list(read_rows(run / "held.jsonl")), list(read_rows(run / "calibration.jsonl"))
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".ship-") as scratch:
        folder = Path(scratch) / "model"
        folder.mkdir()
        if graph is None:
            log.write("export\n")
            made = _exported(run, folder, held, limits)
        else:
            made = _taken(run, graph, folder)
        _write_manifest(folder, made)
        log.write(f"thresholds from {len(harmless)} texts\n")
        calibration = _calibration(folder, harmless, hostile)
        (folder / "calibration.json").write_text(json.dumps(calibration.as_json(), indent=1) + "\n")
        _write_manifest(folder, made)
        log.write(f"figures from {len(held)} texts\n")
        margins = _margins(folder, held)
        answers = [calibration.answer(margin, TextKind(row.kind)) for margin, row in zip(margins, held, strict=True)]
        (folder / "README.md").write_text(
            card(
                Card(
                    today=today,
                    machine=platform.machine(),
                    made=made,
                    size=sum(path.stat().st_size for path in folder.iterdir()),
                    layers=int(json.loads((folder / "config.json").read_text())["num_hidden_layers"]),
                    calibration=calibration,
                    rows=held,
                    margins=margins,
                    answers=answers,
                )
            ),
            encoding="utf-8",
        )
        manifest = _write_manifest(folder, {**made, "metrics": _metrics(held, margins)})
        size = sum(path.stat().st_size for path in folder.iterdir())
        if size > limits.size:
            raise ShipError(f"the folder has {size} bytes, more than {limits.size}; keep fewer layers or pieces")
        load_scorer(folder)
        _replace(folder, out)
    return manifest


def _exported(run: Path, folder: Path, held: Sequence[Row], limits: Limits) -> dict[str, Json]:
    """Graph, configuration and tokenizer of the training in `run`, put into `folder`, and what they were made of."""
    trained = run / TRAINED_FOLDER
    with tempfile.TemporaryDirectory(dir=folder.parent) as graphs:
        single, small = export(trained, Path(graphs))
        parity = _parity(trained, single, small, held, limits)
        shutil.copyfile(small, folder / "model.onnx")
    for name in ("config.json", "tokenizer.json"):
        shutil.copyfile(trained / name, folder / name)
    return _made(run, trained, parity)


def _taken(run: Path, model: Path, folder: Path) -> dict[str, Json]:
    """Those of a shipped model, and what its manifest says of them, with the rows that are new."""
    load_scorer(model)  # its files are what its manifest says
    for name in ("model.onnx", "config.json", "tokenizer.json"):
        shutil.copyfile(model / name, folder / name)
    made: dict[str, Json] = json.loads((model / "manifest.json").read_text(encoding="utf-8"))["made"]
    return {**made, "data": {**made["data"], **_rows(run, "calibration.jsonl", "held.jsonl")}}


def _rows(run: Path, *names: str) -> dict[str, Json]:
    return {name: _digest(run / name) for name in names if (run / name).is_file()}


def _parity(trained: Path, single: Path, small: Path, held: Sequence[Row], limits: Limits) -> Mapping[str, Parity]:
    vocabulary = Vocabulary(tokenizer=Tokenizer.from_file(str(trained / "tokenizer.json")), rows=())
    drawn = Random(len(held)).sample(held, min(_PARITY_ROWS, len(held)))
    ids = vocabulary.encoded(drawn, WINDOW)
    model = WithWide(DebertaV2ForSequenceClassification.from_pretrained(trained), load_wide(trained)).eval()
    found = {name: compared(graph, model, ids) for name, graph in (("single", single), ("int8", small))}
    if found["single"].margin > limits.margin:
        raise ShipError(f"the exported graph differs from the trained model by {found['single'].margin:.1e}")
    if found["int8"].flips > limits.flips * len(ids):
        raise ShipError(f"8 bits change the answer on {found['int8'].flips} of {len(ids)} texts")
    return found


def _calibration(folder: Path, harmless: Sequence[Row], hostile: int) -> Calibration:
    """Thresholds from `harmless`; the temperature also from generated attacks, other ones than training drew."""
    drawn = list(islice(attacks(load_banks(BANKS), Random("temperature")), hostile))
    hard = [row for row in harmless if _is_hard(row)]
    plain = [row for row in harmless if not _is_hard(row)]
    return fit_calibration(_by_kind(folder, plain), hard=_by_kind(folder, hard), attacks=_by_kind(folder, drawn))


def _is_hard(row: Row) -> bool:
    """Whether it was written to be mistaken for an attack; the banks' names say so of theirs."""
    return row.family == WRITTEN_HARD or row.family.startswith("hard")


def _by_kind(folder: Path, rows: Sequence[Row]) -> dict[TextKind, list[float]]:
    found: dict[TextKind, list[float]] = {}
    for row, margin in zip(rows, _margins(folder, rows), strict=True):
        if isfinite(margin):  # a text of blanks has nothing to read
            found.setdefault(TextKind(row.kind), []).append(margin)
    return found


def _margins(folder: Path, rows: Sequence[Row]) -> list[float]:
    """The highest margin over all views of each text, as tier 1 reads it; -inf where there is nothing to read."""
    said = judged(rows, _HEURISTICS, folder)
    return [-inf if one.margin is None else one.margin for one in said]


def _metrics(rows: Sequence[Row], margins: Sequence[float]) -> dict[str, Json]:
    return {
        f"{one.source} ({one.kind})": {
            "attacks": one.attacks,
            "harmless": one.harmless,
            "auc": [round(value, 4) for value in one.auc],
            **{f"recall_at_{share:g}": [round(value, 4) for value in recall] for share, recall in one.recalls.items()},
        }
        for one in by_source(rows, {"tier1": margins})
    }


def _made(run: Path, trained: Path, parity: Mapping[str, Parity]) -> dict[str, Json]:
    course = run / "course.json"
    return {
        "course": json.loads(course.read_text()) if course.is_file() else None,
        "weights": _digest(trained / "model.safetensors"),
        "data": _rows(run, "pool.jsonl", "calibration.jsonl", "held.jsonl"),
        "banks": digests(BANKS),
        "stages": {path.parent.name: json.loads(path.read_text()) for path in sorted(run.glob(f"*/{STAGE_FILE}"))},
        "versions": {name: version(name) for name in _PACKAGES},
        "parity": {name: asdict(found) for name, found in parity.items()},
    }


def _write_manifest(folder: Path, made: Mapping[str, Json]) -> Manifest:
    manifest = Manifest(
        name="tier1",
        files={
            path.name: Pin.of(path.read_bytes()) for path in sorted(folder.iterdir()) if path.name != "manifest.json"
        },
        attack=(1,),
        window=WINDOW,
        stride=STRIDE,
        markers={TextKind(kind): SPECIAL.index(f"[{kind}]") for kind in KINDS},
        special={"cls": SPECIAL.index("[CLS]"), "sep": SPECIAL.index("[SEP]"), "pad": SPECIAL.index("[PAD]")},
        made=made,
    )
    (folder / "manifest.json").write_bytes(manifest.as_json())
    return manifest


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def _replace(folder: Path, out: Path) -> None:
    """`folder` in the place of `out`; a model that was there before is removed."""
    if out.exists():
        os.rename(out, folder.parent / "before")
    os.rename(folder, out)


def main() -> None:
    """Reads the command line."""
    reader = argparse.ArgumentParser(prog="python -m models.training.ship", description=ship.__doc__)
    reader.add_argument("run", type=Path, help="the folder of a finished run")
    reader.add_argument("out", type=Path, help="the model folder; one that is there is replaced")
    reader.add_argument("--graph", type=Path, help="the folder of a shipped model whose graph is kept")
    given = reader.parse_args()
    try:
        ship(given.run, given.out, today=datetime.now(UTC).date().isoformat(), graph=given.graph)
    except ShipError as error:
        sys.exit(f"not shipped: {error}")


if __name__ == "__main__":
    main()
