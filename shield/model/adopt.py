"""A folder becomes a model of this installation: the files that belong to it and a manifest for them.

It is of Hugging Face's layout, or has a manifest of ours, which says how its texts are framed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from shield.errors import ModelError
from shield.model.directory import CALIBRATION, CONFIG, GRAPHS, MANIFEST, TOKENIZER, naming, opened
from shield.model.labels import attack_classes, checked_attack, read_config
from shield.model.manifest import Manifest, Pin, read_manifest
from shield.model.scorer import Scorer, make_scorer

__all__ = ["Adopted", "adopt", "adopt_made", "manifest_in"]

_WINDOW: Final = 128  # several short windows cost less than one long pass
_README: Final = "README.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """`files` are the checked bytes by name, manifest.json among them: write these, not the folder's. `scorer` is made
    of them. `dropped` says that the folder's thresholds are not."""

    manifest: Manifest
    files: Mapping[str, bytes]
    scorer: Scorer
    dropped: bool = False


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
    with naming(folder):
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
        return _adopted(manifest, files)


def adopt_made(folder: Path, *, name: str, shipped: Manifest | None, trusted: bool = False) -> Adopted:
    """Check and try out the model in `folder`, which has a manifest of ours. `shipped` is that of the shipped model,
    None where there is none; `trusted` says that whoever asks vouches for the thresholds that come with it.

    Its manifest says how a text is framed for it, and that is kept. Its thresholds are the word of whoever wrote them:
    they are kept where it is the shipped model, whose thresholds are part of this installation, or where they are
    trusted, and left out elsewhere.

    Raises:
        ModelError: a file is missing, refused or changed, or the model does not answer as it should.
    """
    files: dict[str, bytes] = {}
    with opened(folder) as source:
        theirs = read_manifest(source.read(MANIFEST) or b"")
        for file, pin in theirs.files.items():
            content = source.read(file)
            if content is None or Pin.of(content) != pin:
                raise ModelError(f"`{file}` in `{source.shown}` is not what its manifest says; get the model again")
            files[file] = content
    manifest = replace(theirs, name=name)
    ours = shipped is not None and manifest == replace(shipped, name=name)
    dropped = CALIBRATION in files and not (ours or trusted)
    if dropped:
        del files[CALIBRATION]
        manifest = replace(manifest, files={file: pin for file, pin in theirs.files.items() if file != CALIBRATION})
    with naming(folder):
        return _adopted(manifest, files, dropped=dropped)


def manifest_in(folder: Path) -> Manifest | None:
    """The manifest of the model in `folder`; None where it has none. Raises ModelError."""
    with opened(folder) as source:
        raw = source.read(MANIFEST)
        return None if raw is None else read_manifest(raw)


def _adopted(manifest: Manifest, files: Mapping[str, bytes], *, dropped: bool = False) -> Adopted:
    # the bytes that are tried out are the ones that are kept
    scorer = make_scorer(manifest, files, digest="")
    return Adopted(manifest=manifest, files={**files, MANIFEST: manifest.as_json()}, scorer=scorer, dropped=dropped)
