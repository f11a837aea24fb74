"""config.json: what the classes of a model are called, and which of them are attacks."""

from dataclasses import dataclass
from typing import Final

from shield.errors import ModelError
from shield.model.directory import CONFIG
from shield.model.manifest import read_json
from shield.types import Json

__all__ = ["Config", "attack_classes", "checked_attack", "read_config"]

# ProtectAI says SAFE and INJECTION; Prompt Guard 1 BENIGN, INJECTION and JAILBREAK; Prompt Guard 2 BENIGN and MALICIOUS
_ATTACKS: Final = frozenset({"ATTACK", "INJECTION", "JAILBREAK", "MALICIOUS"})
_UNNAMED: Final = (
    "LABEL_0",
    "LABEL_1",
)  # what Hugging Face calls two classes without names, and leaves out of the file
_CLASSES: Final = (2, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """`labels` by class number; `positions` the longest input, `vocabulary` the number of token ids, where stated."""

    labels: tuple[str, ...]
    positions: int | None
    vocabulary: int | None


def read_config(raw: bytes) -> Config:
    """The parts of config.json that matter here. Raises ModelError."""
    value = read_json(raw, CONFIG)
    return Config(
        labels=_labels(value.get("id2label")),
        positions=_count(value, "max_position_embeddings"),
        vocabulary=_count(value, "vocab_size"),
    )


def attack_classes(labels: tuple[str, ...]) -> tuple[int, ...]:
    """The classes whose names say that they are attacks.

    Raises:
        ModelError: the names do not say it; the owner has to.
    """
    if labels == _UNNAMED:
        return (1,)
    found = tuple(number for number, label in enumerate(labels) if label.upper() in _ATTACKS)
    if not found or len(found) == len(labels):
        shown = ", ".join(f"{number} = {label[:32]}" for number, label in enumerate(labels))
        raise ModelError(f"the classes of this model are `{shown}`; say which are attacks with `--attack NUMBER`")
    return found


def checked_attack(attack: tuple[int, ...], labels: tuple[str, ...]) -> tuple[int, ...]:
    """`attack`, if some but not all of the classes. Raises ModelError."""
    if not set(attack) < set(range(len(labels))) or not attack:
        raise ModelError(f"`attack` {list(attack)} must name some, not all, of the classes 0 to {len(labels) - 1}")
    return attack


def _labels(value: Json) -> tuple[str, ...]:
    if value is None:
        return _UNNAMED
    if not isinstance(value, dict) or set(value) != {str(number) for number in range(len(value))}:
        raise ModelError(f"`{CONFIG}`: `id2label` does not number the classes from 0; take the model's own file")
    if len(value) not in _CLASSES:
        raise ModelError(f"`{CONFIG}`: a model of {len(value)} classes cannot be used; it must have 2 or 3")
    labels = tuple(value[str(number)] for number in range(len(value)))
    if not all(isinstance(label, str) for label in labels):
        raise ModelError(f"`{CONFIG}`: `id2label` holds something else than names; take the model's own file")
    return tuple(str(label) for label in labels)


def _count(value: dict[str, Json], key: str) -> int | None:
    count = value.get(key)
    if count is None:
        return None
    if type(count) is not int or count < 1:
        raise ModelError(f"`{CONFIG}`: `{key}` is not a positive whole number; take the model's own file")
    return count
