"""Where the data that ships with Shield is: inside an installed wheel, or beside the package in a checkout."""

from importlib.resources import files
from pathlib import Path

from shield.errors import ConfigError

__all__ = ["data_folder"]


def data_folder(name: str) -> Path:
    """The folder of shipped data of this name (`policies`, `models/tier1`).

    A wheel carries it as `shield/_data/NAME`; an editable install does not, there it is the checkout's own folder.

    Raises:
        ConfigError: neither exists, so the installation is incomplete.
    """
    package = Path(str(files("shield")))
    for folder in (package / "_data" / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise ConfigError(f"the data folder `{name}` is missing from this installation; install shield-sidecar again")
