"""A model's folder, read once: the bytes that are hashed are the bytes that are used, and no link leads out.

Files are opened by name below an open descriptor of the folder, with O_NOFOLLOW for each part.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from shield.errors import ModelError

__all__ = ["CALIBRATION", "CONFIG", "GRAPHS", "LIMITS", "MANIFEST", "TOKENIZER", "ModelFolder", "naming", "opened"]

MANIFEST: Final = "manifest.json"
CONFIG: Final = "config.json"
TOKENIZER: Final = "tokenizer.json"
CALIBRATION: Final = "calibration.json"
GRAPHS: Final = ("model.onnx", "onnx/model.onnx")  # ours, and the layout of Hugging Face's exporters
LIMITS: Final = {  # bytes; all a model may consist of
    MANIFEST: 256 << 10,
    CONFIG: 1 << 20,
    TOKENIZER: 64 << 20,
    CALIBRATION: 64 << 10,
    "README.md": 1 << 20,
    GRAPHS[0]: 1 << 30,
    GRAPHS[1]: 1 << 30,
}
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class ModelFolder:
    """Reads the files of `LIMITS` below one open descriptor."""

    def __init__(self, descriptor: int, shown: str) -> None:
        self._descriptor = descriptor
        self.shown = shown

    def read(self, name: str) -> bytes | None:
        """The content of `name`, one of `LIMITS`; None where there is no such file.

        Raises:
            ModelError: a link, no plain file, larger than its limit, or not readable.
        """
        head, _, last = name.rpartition("/")
        try:
            if not head:
                return self._read(self._descriptor, last, name)
            parent = os.open(head, _FOLDER | os.O_NOFOLLOW, dir_fd=self._descriptor)
            try:
                return self._read(parent, last, name)
            finally:
                os.close(parent)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._error(name, error) from None

    def _read(self, parent: int, last: str, name: str) -> bytes:
        limit = LIMITS[name]
        with open(os.open(last, _FILE, dir_fd=parent), "rb") as file:  # a descriptor has no path
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ModelError(f"`{name}` in `{self.shown}` is not a plain file; copy the model anew")
            content = file.read(limit + 1)
        if len(content) > limit:
            raise ModelError(f"`{name}` in `{self.shown}` is larger than {limit} bytes; use a smaller model")
        return content

    def _error(self, name: str, error: OSError) -> ModelError:
        # ELOOP and ENOTDIR are what O_NOFOLLOW answers for a link, with and without O_DIRECTORY
        if isinstance(error, NotADirectoryError) or error.errno == errno.ELOOP:
            return ModelError(f"`{name}` in `{self.shown}` is a link; copy the folder with `cp -rL` and use the copy")
        return ModelError(f"`{name}` in `{self.shown}` cannot be read: {(error.strerror or str(error)).lower()}")


@contextmanager
def opened(folder: Path) -> Iterator[ModelFolder]:
    """`folder`, open for reading; what is wrong with its files while it is names it.

    Raises:
        ModelError: it is no readable folder.
    """
    shown = str(folder)
    try:
        descriptor = os.open(folder, _FOLDER)
    except (OSError, ValueError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        hint = "name a folder with config.json, tokenizer.json and model.onnx"
        raise ModelError(f"the model folder `{shown}` cannot be opened: {why.lower()}; {hint}") from None
    try:
        with naming(folder):
            yield ModelFolder(descriptor, shown)
    finally:
        os.close(descriptor)


@contextmanager
def naming(folder: Path) -> Iterator[None]:
    """What a ModelError says of a file, said of the file in this folder."""
    try:
        yield
    except ModelError as error:
        if f"`{folder}`" in error.detail:
            raise
        raise ModelError(f"`{folder}`: {error.detail}", reason=error.reason) from None
