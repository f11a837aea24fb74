"""The written banks (`banks/`): goals, leads, whole attacks, carriers, harmless texts, and the words of their slots.

A slot is `{name}` with a list in `banks/slots.yaml`; any other brace is text. `⟦here⟧` in a carrier is a place where
somebody else's words could stand.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Any

import yaml

from models.training.row import KINDS

__all__ = [
    "BANKS",
    "HERE",
    "THRESHOLDS",
    "UNSEEN",
    "BankError",
    "Banks",
    "Carrier",
    "Harmless",
    "Lead",
    "Pair",
    "Whole",
    "digests",
    "load_banks",
]

BANKS = Path(__file__).parent / "banks"
# By other writers, and nothing is trained on them: what recipes are chosen by, and harmless texts that set thresholds.
UNSEEN = Path(__file__).parent / "unseen"
THRESHOLDS = Path(__file__).parent / "thresholds"
HERE = "⟦here⟧"
_PAIRS = "documents"
_SLOT = re.compile(r"\{([A-Za-z_]+)\}")


class BankError(ValueError):
    """A bank that cannot be read: names file and entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """How a goal is brought up; `{goal}` or `{Goal}` stands for it."""

    text: str
    family: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """An attack that needs no goal. `direct` ones are said by a user, the others stand in what a tool returns."""

    text: str
    family: str
    direct: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """A document of `kind` with places for somebody else's words."""

    text: str
    family: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Harmless:
    """A text that is no attack, however much it looks like one."""

    text: str
    family: str
    kind: str


@dataclass(frozen=True, kw_only=True)
class Pair:
    """What a tool returned, as it was and with somebody else's words in it. Its slots stay as they are."""

    clean: str
    poisoned: str
    family: str

    @cached_property
    def parts(self) -> tuple[str, str, str, str]:
        """What both begin with, where they differ the words of the clean one and of the poisoned one, and what both
        end with."""
        start = _shared(self.clean, self.poisoned)
        rest, planted = self.clean[start:], self.poisoned[start:]
        end = _shared(rest[::-1], planted[::-1])
        return self.clean[:start], rest[: len(rest) - end], planted[: len(planted) - end], rest[len(rest) - end :]


@dataclass(frozen=True, kw_only=True)
class Banks:
    """All banks. `slots` maps a name to its words."""

    goals: tuple[str, ...]
    leads: tuple[Lead, ...]
    wholes: tuple[Whole, ...]
    carriers: tuple[Carrier, ...]
    harmless: tuple[Harmless, ...]
    pairs: tuple[Pair, ...]
    slots: Mapping[str, tuple[str, ...]]

    @cached_property
    def direct(self) -> tuple[Whole, ...]:
        """Whole attacks that a user says."""
        return tuple(whole for whole in self.wholes if whole.direct)

    @cached_property
    def indirect(self) -> tuple[Whole, ...]:
        """Whole attacks that stand in what a tool returns."""
        return tuple(whole for whole in self.wholes if not whole.direct)

    def filled(self, text: str, rng: Random, extra: Mapping[str, str] = MappingProxyType({})) -> str:
        """`text` with each slot filled; the same name gets the same word throughout."""
        chosen: dict[str, str] = dict(extra)

        def word(match: re.Match[str]) -> str:
            name = match[1]
            if name not in chosen:
                words = self.slots.get(name)
                if words is None:
                    return match[0]
                chosen[name] = self.filled(rng.choice(words), rng, chosen)
            return chosen[name]

        return _SLOT.sub(word, text)


def digests(folder: Path) -> dict[str, str]:
    """The digest of each file of `folder`, by its place in it."""
    return {
        str(path.relative_to(folder)): f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in sorted(folder.rglob("*.yaml"))
    }


def load_banks(folder: Path, slots_file: Path = BANKS / "slots.yaml") -> Banks:
    """Raises BankError for what is no bank."""
    slots = {name: tuple(str(word) for word in words) for name, words in _yaml(slots_file).items()}
    goals: list[str] = []
    leads: list[Lead] = []
    wholes: list[Whole] = []
    carriers: list[Carrier] = []
    harmless: list[Harmless] = []
    for path in sorted(folder.glob("*/*.yaml")):
        if path.parent.name == _PAIRS:
            continue
        content = _yaml(path)
        family = str(content.get("family") or path.stem)
        texts = content.get("texts")
        if not isinstance(texts, list) or not all(isinstance(text, (str, dict)) for text in texts):
            raise BankError(f"{path}: `texts` has to be a list of texts")
        for index, entry in enumerate(texts):
            text, kind = _entry(path, index, entry, content)
            match path.parent.name:
                case "goals":
                    goals.append(text)
                case "leads":
                    leads.append(Lead(text=text, family=family))
                case "wholes":
                    wholes.append(Whole(text=text, family=family, direct=kind == "prose"))
                case "carriers":
                    carriers.append(Carrier(text=text, family=family, kind=kind))
                case "harmless":
                    harmless.append(Harmless(text=text, family=family, kind=kind))
                case other:
                    raise BankError(f"{path}: `{other}` is no kind of bank")
    return Banks(
        goals=tuple(goals),
        leads=tuple(leads),
        wholes=tuple(wholes),
        carriers=tuple(carriers),
        harmless=tuple(harmless),
        pairs=tuple(_pairs(folder)),
        slots=MappingProxyType(slots),
    )


def _shared(one: str, other: str) -> int:
    """How many letters both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _pairs(folder: Path) -> Iterator[Pair]:
    for path in sorted((folder / _PAIRS).glob("*.yaml")):
        content = _yaml(path)
        for index, entry in enumerate(content.get("pairs") or ()):
            match entry:
                case {"clean": str(clean), "poisoned": str(poisoned)} if clean.strip() != poisoned.strip():
                    yield Pair(clean=clean, poisoned=poisoned, family=str(content.get("family") or path.stem))
                case _:
                    raise BankError(f"{path}: pair {index} has to have `clean` and `poisoned`, which differ")


def _entry(path: Path, index: int, entry: Any, content: Mapping[str, Any]) -> tuple[str, str]:
    kind = str(content.get("kind", "tool_result" if path.parent.name == "carriers" else "prose"))
    if isinstance(entry, dict):
        kind = str(entry.get("kind", kind))
        entry = entry.get("text")
    if not isinstance(entry, str) or not entry.strip():
        raise BankError(f"{path}: entry {index} has no text")
    if kind not in KINDS:
        raise BankError(f"{path}: entry {index}: `{kind}` is no kind; it is one of {', '.join(KINDS)}")
    folder = path.parent.name
    if folder == "leads" and "{goal}" not in entry and "{Goal}" not in entry:
        raise BankError(f"{path}: entry {index} has no place for a goal (`{{goal}}` or `{{Goal}}`)")
    if folder == "carriers" and HERE not in entry:
        raise BankError(f"{path}: entry {index} has no `{HERE}`")
    return entry.rstrip("\n"), kind


def _yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)  # the safe loader
    except (OSError, yaml.YAMLError) as error:
        raise BankError(f"{path}: {error}") from None
    if not isinstance(content, dict):
        raise BankError(f"{path}: a bank is a mapping")
    return content
