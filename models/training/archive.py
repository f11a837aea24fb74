"""The files of a package's archive, read out of it: nothing is unpacked to disk, and nothing of it is run."""

import io
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["decoded", "files"]

_MOST_BYTES = 2_000_000
_DEB = b"!<arch>\n"  # ar(5)
_HEAD = 60  # bytes before each member of it


def files(path: Path, wanted: Callable[[str], bool]) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file up to 2 MB whose name is `wanted`, by name; of a source archive (.tar.gz), an npm
    one (.tgz) or a Debian one (.deb)."""
    with _opened(path) as archive:
        for member in sorted(archive.getmembers(), key=lambda member: member.name):
            if member.isfile() and member.size <= _MOST_BYTES and wanted(member.name):
                file = archive.extractfile(member)
                if file is not None:
                    yield member.name, file.read()


def decoded(raw: bytes) -> str:
    """UTF-8, or what an old page would be."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("latin-1")


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    if path.suffix != ".deb":
        with tarfile.open(path) as archive:
            yield archive
        return
    with tarfile.open(fileobj=io.BytesIO(_data(path.read_bytes()))) as archive:
        yield archive


def _data(raw: bytes) -> bytes:
    """The member of a Debian archive that holds the package's files. Raises ValueError where there is none."""
    place = len(_DEB)
    while raw.startswith(_DEB) and place + _HEAD <= len(raw):
        head = raw[place : place + _HEAD]
        size = int(head[48:58])
        place += _HEAD
        if head.startswith(b"data.tar"):
            return raw[place : place + size]
        place += size + size % 2
    raise ValueError("no Debian archive: it has no data.tar")
