"""`shield model use`: the owner adopts a model, after a person confirmed it at the terminal."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shield.cli.render import compact, shown
from shield.cli.terminal import confirm
from shield.config.home import home_from
from shield.config.model_folder import SHIPPED, model_folder, model_name
from shield.errors import ConfigError
from shield.regex import regex

if TYPE_CHECKING:
    from shield.model.adopt import Adopted
    from shield.model.manifest import Manifest

__all__ = ["use"]

_UNFIT = regex(r"[^a-z0-9._-]+")


@click.command("use", short_help="Adopt the model in a folder.")
@click.argument("directory", metavar="DIR")
@click.option("--name", metavar="NAME", help="What it is called here. Default: the folder's name.")
@click.option(
    "--attack",
    multiple=True,
    type=click.IntRange(0, 2),
    metavar="NUMBER…",
    help="Which of its classes are attacks, where their names do not say it.",
)
@click.option("--thresholds", "trusted", is_flag=True, help="Keep the thresholds that come with it: it is your own.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def use(directory: str, *, name: str | None, attack: tuple[int, ...], trusted: bool, as_json: bool) -> None:
    """Copy a text classifier into Shield's home, checked and tried out, with a manifest of its bytes.

    DIR is of Hugging Face's layout: config.json, tokenizer.json, and model.onnx or onnx/model.onnx, with two or three
    classes; or it has a manifest of ours. Thresholds are not taken along, except with a copy of the shipped model
    or with `--thresholds`: the model only asks, until `shield model calibrate` sets them. Asked for at the terminal:
    what a model does not see, nobody may see.

    Exit codes: 0 adopted; 1 not confirmed; 2 refused.
    """
    from shield.cli.model_info import thresholds
    from shield.cli.model_store import free_folder, store

    home = home_from(os.environ)
    source = Path(os.path.abspath(directory))
    called = _called(source) if name is None else name
    folder = free_folder(called, home)
    adopted = _checked(source, called, attack, trusted=trusted)
    calibration = adopted.scorer.calibration
    if not confirm(_question(source, adopted, thresholds(calibration)), term=os.environ.get("TERM", "")):
        click.echo("not adopted", err=True)
        raise SystemExit(1)
    store(folder, adopted.files, home)
    line = f'[tier1]\nmodel = "{called}"'
    if as_json:
        click.echo(compact({"name": called, "folder": str(folder), "attack": list(adopted.manifest.attack)}))
    else:
        click.echo(f"adopted     {shown(str(folder))}")
    if not calibration.kinds:
        click.echo(f"it only asks until you run `shield model calibrate {called} --benign FILE`", err=True)
    click.echo(f"to use it, write into {shown(home.toml)} and start Shield anew:\n{line}", err=True)


def _called(source: Path) -> str:
    """A name for the model in this folder, of the folder's own. Raises ConfigError: nothing of that can be one."""
    found = _UNFIT.sub("-", source.name.lower()).strip("-._")
    try:
        return model_name(found)
    except ConfigError:
        raise ConfigError(f"no name of a model can be made of `{source}`; give one with `--name`") from None


def _checked(source: Path, name: str, attack: tuple[int, ...], *, trusted: bool) -> "Adopted":
    """The model's bytes, loaded once and answering. Raises ModelError, ConfigError."""
    from shield.model.adopt import adopt, adopt_made
    from shield.model.directory import MANIFEST

    if not os.path.lexists(source / MANIFEST):
        return adopt(source, name=name, attack=attack or None)
    if attack:
        raise click.UsageError(f"`{source}` has a manifest, which says what its attacks are; leave `--attack` out")
    return adopt_made(source, name=name, shipped=_shipped(), trusted=trusted)


def _shipped() -> "Manifest | None":
    """The manifest of the shipped model; None where that is missing or damaged, so that nothing is taken for it."""
    from shield.errors import ShieldError
    from shield.model.adopt import manifest_in

    try:
        return manifest_in(model_folder(SHIPPED, home_from(os.environ)))
    except ShieldError:
        return None


def _question(source: Path, adopted: "Adopted", thresholds: Iterable[str]) -> str:
    from shield.cli.model_info import blind

    manifest = adopted.manifest
    attack, honest = adopted.scorer.probe()
    dropped = (
        "its own thresholds, which this installation did not make, are left out: `shield model calibrate` sets some;\n"
        "of a model of your own training keep them with `--thresholds`"
    )
    pin = manifest.files[manifest.graph]
    lines = [
        "this model will read for Shield what agents say, write and are told:",
        f"  from        {shown(str(source))}",
        f"  graph       {manifest.graph}, {pin.size / 1e6:.1f} MB",
        f"  SHA-256     {pin.sha256}",
        f"  classes     {_classes(adopted)}",
        f"  scores      an attack {attack.score:.3f}, an honest line {honest.score:.3f}",
        *(f"  {line}" for line in thresholds),
        *([dropped] if adopted.dropped else []),
        *blind(adopted.scorer),
        "it allows nothing by itself, but where it sees nothing, what a rule allows with",
        "`min_tier: 1` goes ahead; adopt it only if you know who made it",
    ]
    return "\n".join(lines)


def _classes(adopted: "Adopted") -> str:
    from shield.model.directory import CONFIG
    from shield.model.labels import read_config

    labels = read_config(adopted.files[CONFIG]).labels
    marks = (f"{label} (attack)" if number in adopted.manifest.attack else label for number, label in enumerate(labels))
    return shown(", ".join(marks))
