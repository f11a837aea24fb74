"""`python -m models.training.fetch FOLDER`: the archives that training reads beside `../shared/data` and the machine:
pages of the web, documentation, descriptions of packages, and AgentDojo, on which it is measured. FOLDER is then that
of `--web`.

They come from PyPI, npm and Debian at pinned versions (of Debian's, what its release has). Nothing of them is built,
installed or run; what is in FOLDER already is not fetched again.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from models.training import descriptions, documents, web

__all__ = ["INDEX", "FetchError", "fetch"]

INDEX = "https://pypi.org/simple"
_SIMPLE = "application/vnd.pypi.simple.v1+json"
_DOJO = "agentdojo-0.1.35-py3-none-any.whl"
_PATIENCE_S = 120.0
_AT_ONCE = 12
_LEAST = 0.8  # of the packages that are described; some go away


class FetchError(Exception):
    """An archive that could not be had: which, and why."""


def fetch(folder: Path, *, index: str = INDEX) -> Path:
    """AgentDojo's wheel; the archives lie beside it. A machine without `apt-get` goes without Debian's. Raises
    FetchError."""
    folder.mkdir(parents=True, exist_ok=True)
    with httpx.Client(follow_redirects=True, timeout=_PATIENCE_S) as client:
        for name, file_name in _of_pypi():
            if not (folder / file_name).exists():
                _write(folder / file_name, _from_pypi(client, index, name, file_name))
        if not (folder / descriptions.FILE).exists():
            _write(folder / descriptions.FILE, _described(client, index.removesuffix("/simple")))
    sources = [one for one in (*web.SOURCES, *documents.NPM) if not (folder / documents.npm_archive(one)).exists()]
    if sources:
        _run(["npm", "pack", "--silent", *sources], folder)
    packages = [name for name in documents.DEBIAN if not any(folder.glob(documents.debian_archive(name)))]
    if packages and shutil.which("apt-get") is None:
        print("without apt-get the documentation that Debian has is left out", file=sys.stderr)
    elif packages:
        # as the user that it is run by: to apt's own, which root would become, the folder is closed
        _run(["apt-get", "--option=APT::Sandbox::User=root", "download", "--quiet", *packages], folder)
    return folder / _DOJO


def _of_pypi() -> Iterator[tuple[str, str]]:
    """Project and file."""
    yield "agentdojo", _DOJO
    for pinned in (*web.PACKAGES, *documents.PYPI):
        yield pinned.partition("==")[0], documents.pypi_archive(pinned)


def _write(path: Path, raw: bytes) -> None:
    """Whole or not at all: what is there is not fetched again."""
    beside = path.with_name(f"{path.name}.part")
    beside.write_bytes(raw)
    os.replace(beside, path)


def _from_pypi(client: httpx.Client, index: str, name: str, file_name: str) -> bytes:
    try:
        told = client.get(f"{index}/{name}/", headers={"Accept": _SIMPLE}).raise_for_status().json()
        known = {one["filename"]: one for one in told["files"]}
        raw = client.get(known[file_name]["url"]).raise_for_status().content
        wanted = known[file_name]["hashes"]["sha256"]
    except KeyError:
        raise FetchError(f"{index}/{name}/ has no {file_name}") from None
    except (httpx.HTTPError, ValueError) as error:
        raise FetchError(f"{file_name}: {error}") from None
    if hashlib.sha256(raw).hexdigest() != wanted:
        raise FetchError(f"{file_name}: its digest is not {wanted}, which {index}/{name}/ tells of it")
    return raw


def _described(client: httpx.Client, root: str) -> bytes:
    """A JSON line for each package; those that are not there any more are left out."""

    def described(package: str) -> str | None:
        try:
            answer = client.get(f"{root}/pypi/{package}/json")
            if answer.status_code == httpx.codes.NOT_FOUND:
                return None
            return answer.raise_for_status().json()["info"]["description"] or ""
        except (httpx.HTTPError, ValueError, LookupError, TypeError) as error:
            raise FetchError(f"the description of {package}: {error}") from None

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        told = list(pool.map(described, descriptions.DESCRIPTIONS))
    lines = [
        json.dumps({"package": package, "text": text})
        for package, text in zip(descriptions.DESCRIPTIONS, told, strict=True)
        if text is not None
    ]
    if len(lines) < _LEAST * len(told):
        raise FetchError(f"{root}/pypi/ has {len(lines)} of {len(told)} packages only")
    return "".join(f"{line}\n" for line in lines).encode()


def _run(command: Sequence[str], folder: Path) -> None:
    """What the command puts down where it runs comes into `folder`, unless it fails."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        try:
            done = subprocess.run(command, cwd=scratch, stdout=subprocess.DEVNULL, check=False)  # noqa: S603
        except OSError as error:
            raise FetchError(f"`{command[0]}` cannot be run: {error.strerror}") from None
        if done.returncode:
            raise FetchError(f"`{' '.join(command)}` failed; what it said stands above")
        for path in Path(scratch).iterdir():
            os.replace(path, folder / path.name)


def main() -> int:
    """Reads the command line."""
    reader = argparse.ArgumentParser(prog="python -m models.training.fetch", description=__doc__)
    reader.add_argument("folder", type=Path)
    try:
        print(fetch(reader.parse_args().folder))
    except FetchError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
