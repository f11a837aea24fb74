"""A folder of Hugging Face's layout becomes a model of ours: the files that belong to it and a manifest for them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shield.errors import ModelError
from shield.model.directory import CONFIG, GRAPHS, MANIFEST, TOKENIZER, opened
from shield.model.labels import attack_classes, checked_attack, read_config
from shield.model.manifest import Manifest, Pin
from shield.model.scorer import Scorer, make_scorer

__all__ = ["Adopted", "adopt"]

_WINDOW: Final = 128  # several short windows cost less than one long pass
_README: Final = "README.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """`files` are the checked bytes by name, manifest.json among them: write these, not the folder's. `scorer` is made
    of them."""

    manifest: Manifest
    files: Mapping[str, bytes]
    scorer: Scorer


def adopt(folder: Path, *, name: str, attack: tuple[int, ...] | None = None) -> Adopted:
    """Check and try out the model in `folder`. `attack` names the classes that are attacks where labels do not.

    A calibration is not taken along: one that its owner did not make here says nothing about what is honest here.

    Raises:
        ModelError: a file is missing or refused, the labels do not tell, or the model does not answer as it should.
    """
    files: dict[str, bytes] = {}
    with opened(folder) as source:
        for wanted in (CONFIG, TOKENIZER, *GRAPHS, _README):
            content = source.read(wanted)
            if content is not None:
                files[wanted] = content
        for wanted in (CONFIG, TOKENIZER):
            if wanted not in files:
                raise ModelError(f"`{source.shown}` has no `{wanted}`; take the whole folder of the model")
        if sum(graph in files for graph in GRAPHS) != 1:
            here = f"both `{GRAPHS[0]}` and" if GRAPHS[0] in files else f"neither `{GRAPHS[0]}` nor"
            hint = "remove one" if GRAPHS[0] in files else "export the model with `optimum-cli export onnx`"
            raise ModelError(f"`{source.shown}` has {here} `{GRAPHS[1]}`; {hint}")
    config = read_config(files[CONFIG])
    chosen = attack_classes(config.labels) if attack is None else checked_attack(attack, config.labels)
    window = min(_WINDOW, config.positions or _WINDOW)
    manifest = Manifest(
        name=name,
        files={file: Pin.of(content) for file, content in files.items()},
        attack=chosen,
        window=window,
        stride=window // 2,
    )
    scorer = make_scorer(manifest, files, digest="")
    return Adopted(manifest=manifest, files={**files, MANIFEST: manifest.as_json()}, scorer=scorer)
