"""What packages on PyPI say of themselves: the texts that a developer's agent reads most, half of them around agents.

None of it is in this repository: `python -m models.training.fetch` puts it into the folder of `--web`, as it stands on
that day (PyPI tells it of the newest version), and without it it is left out. Each package (`descriptions.yaml`) is on
one side: it is trained on, sets thresholds, or is reported.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random

import yaml

from models.training.documents import distinct
from models.training.ordinary import Part
from models.training.row import Row

__all__ = ["DESCRIPTIONS", "FILE", "SOURCE", "descriptions"]

SOURCE = "descriptions"  # families are `descriptions-agents` and `descriptions-others`
FILE = "descriptions.jsonl"  # {"package": …, "text": …}
_WINDOWS = 4  # of a description that is trained on
_LEAST = 300  # letters; shorter ones say little


@cache
def _listed() -> dict[tuple[str, str], tuple[str, ...]]:
    content = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return {(group, part): tuple(names.split()) for group, parts in content.items() for part, names in parts.items()}


DESCRIPTIONS = tuple(name for names in _listed().values() for name in names)


def descriptions(folder: Path | None, part: Part, rng: Random) -> Iterator[Row]:
    """Windows to train on; of the other parts one text of each package, of up to 6,000 letters."""
    path = None if folder is None else folder / FILE
    if path is None or not path.is_file():
        return
    with path.open(encoding="utf-8") as lines:
        known = {one["package"]: one["text"] for one in map(json.loads, lines)}
    for (group, listed), names in _listed().items():
        if listed != part.name.lower():
            continue
        texts = [known[name] for name in names if len(known.get(name, "")) >= _LEAST]
        most = len(texts) * (_WINDOWS if part is Part.TRAIN else 1)
        for text in distinct(texts, part, rng, most):
            yield Row(text=text, label=0, kind="tool_result", family=f"{SOURCE}-{group}", source=SOURCE)
