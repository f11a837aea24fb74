"""Which folder `[tier1] model` names: the shipped model, or one that its owner adopted into Shield's home."""

import os
from pathlib import Path

from shield.config.home import Home
from shield.errors import ConfigError
from shield.regex import regex
from shield.resources import data_folder

__all__ = ["SHIPPED", "model_folder", "model_found", "model_name"]

SHIPPED = "tier1"
_NAME = regex(r"[a-z0-9][a-z0-9._-]{0,63}")


def model_folder(name: str, home: Home) -> Path:
    """The folder of the model of this name, which may not exist yet.

    INVARIANT: an adopted model lies in Shield's home. Elsewhere whoever may write the folder, an agent too, could swap
    the model together with the manifest that vouches for it.

    Raises:
        ConfigError: this is no name, or the shipped model is missing.
    """
    if model_name(name) == SHIPPED:
        return data_folder(f"models/{SHIPPED}")
    return Path(home.models, name)


def model_found(name: str, home: Home) -> Path | None:
    """The same for a name that the settings hold; None where it is the shipped one and that is not there."""
    try:
        return model_folder(name, home)
    except ConfigError:
        return None


def model_name(name: str) -> str:
    """`name`, if a model may be called so. Raises ConfigError."""
    if _NAME.fullmatch(name) is None:
        hint = f"; adopt the folder with `shield model use {name[:128]}`" if os.sep in name else ""
        raise ConfigError(f"`{name[:128]}` is no name of a model: lower-case letters, digits, `.`, `_`, `-`{hint}")
    return name
