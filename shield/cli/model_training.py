"""`shield model train|export`: the training that lies beside the checkout, in a process of its own.

Shield itself never imports torch, transformers or optimum.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import click

import shield
from shield.errors import ConfigError

__all__ = ["export", "train"]

_EXTRA = ("torch", "transformers", "optimum")
_HANDED_ON = {"ignore_unknown_options": True, "allow_extra_args": True}


@click.command("train", context_settings=_HANDED_ON, short_help="Train a classifier.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENTS]…")
def train(arguments: tuple[str, ...]) -> None:
    """Run `models.training` of this checkout; `shield model train -- --help` shows its arguments.

    Needs the source tree and the extra `train`.

    Exit codes: 0 trained; 1 it failed; 2 something is missing, or wrong usage.
    """
    _become("models.training", arguments)


@click.command("export", context_settings=_HANDED_ON, short_help="Make a model folder of a run.")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENTS]…")
def export(arguments: tuple[str, ...]) -> None:
    """Run `models.training.ship` of this checkout; `shield model export -- --help` shows its arguments.

    Needs the source tree and the extra `train`.

    Exit codes: 0 exported; 1 it failed; 2 something is missing, or wrong usage.
    """
    _become("models.training.ship", arguments)


def _become(module: str, arguments: tuple[str, ...]) -> None:
    """Go on as this module's process. Raises ConfigError where it could not run."""
    root = Path(shield.__file__).resolve().parent.parent
    if not root.joinpath(*module.split(".")[:2], "__main__.py").is_file():
        raise ConfigError(
            "training is part of the source tree, not of the wheel;"
            " in a checkout run `pip install -e '.[train]'`, then this again"
        )
    missing = [name for name in _EXTRA if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"{', '.join(missing)} cannot be imported; run `pip install -e '{root}[train]'` in this environment"
        )
    environ = {**os.environ, "PYTHONPATH": str(root)}
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-P", "-m", module, *arguments], environ)  # noqa: S606  # no shell
