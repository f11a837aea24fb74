"""Where adopted models are kept: a folder each in Shield's home, made whole or not at all."""

import os
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from shield.config.home import Home
from shield.config.model_folder import SHIPPED, model_folder, model_name
from shield.errors import ConfigError
from shield.service.home import prepare, write_private

__all__ = ["check_own", "free_folder", "rewrite", "store"]


def free_folder(name: str, home: Home) -> Path:
    """Where a model of this name would lie. Raises ConfigError if it may not be called so, or one is there."""
    if model_name(name) == SHIPPED:
        raise ConfigError(f"`{SHIPPED}` is the shipped model; give another name with `--name`")
    folder = model_folder(name, home)
    if os.path.lexists(folder):
        raise ConfigError(f"`{folder}` is there already; give another name with `--name`, or remove it")
    return folder


def store(folder: Path, files: Mapping[str, bytes], home: Home) -> None:
    """Write the files, named by their path below `folder`, which appears with all of them or not at all.

    Raises:
        ConfigError: it cannot be written.
    """
    os.umask(0o077)
    prepare(home)
    unfinished = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        unfinished.mkdir(mode=0o700)
        for name, raw in files.items():
            path = unfinished / name
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(str(path), raw)
        # INVARIANT: the name is free or an empty folder: `rename` replaces nothing else
        unfinished.rename(folder)
    except OSError as error:
        raise ConfigError(f"`{folder}` cannot be written: {error.strerror}; see to the disk and try again") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def check_own(folder: Path) -> None:
    """Raises ConfigError for a folder whose files `rewrite` would not write anew, since they may lie elsewhere."""
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise ConfigError(f"`{folder}` is not a directory of this user; adopt the model again")


def rewrite(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write these files of an adopted model anew, in this order: until the last of them is in place, which has to be
    the manifest, the folder does not load. Raises ConfigError."""
    check_own(folder)
    for name, raw in files.items():
        write_private(str(folder / name), raw)
