"""What a project may not set: the variables that say where Shield is, which model is asked, what Python imports.

A variable that is set looks the same wherever it comes from. What is refused here is what a project is known to have
set: by direnv, which tells what it changed, and by the files that editors, containers and shells load variables from.
What a person's profile, a unit file or a command line sets is theirs, and is honoured.
"""

import base64
import binascii
import json
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from shield.client.pin import holds_home, working_tree
from shield.errors import ClientError, Reason
from shield.regex import regex

__all__ = ["refuse_project"]

_FILE_MAX: Final = 256 * 1024
_DIFF_MAX: Final = 1024 * 1024
_ENTRIES_MAX: Final = 4096
_STEERING: Final = regex(
    r"SHIELD_\w+|AGENTCTL_\w+|HOME|XDG_(?:CONFIG|DATA|STATE)_HOME"
    r"|PYTHON(?:PATH|HOME|STARTUP|USERBASE|PLATLIBDIR|PYCACHEPREFIX)"
    r"|LD_(?:PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_\w+|GCONV_PATH|OPENSSL_(?:CONF|MODULES|ENGINES)"
)
# Files by what they are called, and those in folders that are named here.
_LOADED: Final = regex(r"\.env.*|\.?mise(?:\.[\w.-]+)?\.toml|.+\.code-workspace")
_NAMES: Final = (
    ".config/mise.toml",
    ".config/mise/config.toml",
    ".devcontainer.json",
    ".devcontainer/devcontainer.json",
    ".gitpod.yml",
    ".mise/config.toml",
    ".vscode/settings.json",
    ".zed/settings.json",
    "devbox.json",
    "mise/config.toml",
    "pixi.toml",
)
_DEVCONTAINERS: Final = ".devcontainer"  # one in each folder, as an alternative


def refuse_project(
    environ: Mapping[str, str],
    workspace: Path,
    *,
    user: Path | None = None,
    import_path: Sequence[str] = (),
    prefixes: Sequence[str] = (),
) -> None:
    """Raise ClientError (`service.impostor`) where the project that `workspace` lies in set a variable that steers us.

    `user` is the person's home directory. An entry of `import_path` (`sys.path`) in the project is refused, too, unless
    it belongs to the environment that we run from: `prefixes` (`sys.prefix`), or the checkout of this very package.
    """
    top = working_tree(workspace, user)
    steering = sorted(name for name in environ if _STEERING.fullmatch(name))
    for name in steering:
        if name in _set_by_direnv(environ):
            raise _refusal(name, environ.get("DIRENV_FILE") or "direnv")
    if holds_home(top, user):
        return  # a person's own directory, not a project's
    for file in _files(Path(os.path.realpath(workspace)), top):
        text = _text(file)
        for name in steering:
            if text and re.search(rf"(?<![\w${{]){name}[\"']?[ \t]*[=:]", text):
                raise _refusal(name, str(file))
    own = [Path(__file__).resolve().parents[2], *(Path(prefix).resolve() for prefix in prefixes)]
    for entry in import_path:
        real = Path(os.path.realpath(entry or "."))
        if real.is_relative_to(top) and not any(real.is_relative_to(base) for base in own):
            raise ClientError(
                f"Python imports from `{real}`, which lies in the project; unset PYTHONPATH, and start with `-P`",
                reason=Reason.SERVICE_IMPOSTOR,
            )


def _refusal(name: str, where: str) -> ClientError:
    return ClientError(
        f"`{name}` is set by the project, in `{where}`; unset it, or set it in your own profile and remove it there",
        reason=Reason.SERVICE_IMPOSTOR,
    )


def _set_by_direnv(environ: Mapping[str, str]) -> frozenset[str]:
    """The names that direnv set: `DIRENV_DIFF` is URL-safe base64 of zlib of `{"p":{…},"n":{…}}` (direnv, gzenv)."""
    raw = environ.get("DIRENV_DIFF")
    if not raw:
        return frozenset()
    try:
        packed = base64.urlsafe_b64decode(raw)
        new = json.loads(zlib.decompressobj().decompress(packed, _DIFF_MAX))["n"]
        return frozenset(new)
    except (binascii.Error, zlib.error, ValueError, KeyError, TypeError, RecursionError):
        # what cannot be read may name anything; HOME is always set, and direnv has no business with it
        return frozenset(environ) - {"HOME"}


def _files(workspace: Path, top: Path) -> Iterator[Path]:
    places: Iterable[Path] = (workspace, *workspace.parents)
    for place in places:
        if not place.is_relative_to(top):
            return
        yield from (place / name for name in _listed(place) if _LOADED.fullmatch(name))
        yield from (place / name for name in _NAMES)
        within = place / _DEVCONTAINERS
        yield from (within / name / "devcontainer.json" for name in _listed(within))


def _listed(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry, _ in zip(entries, range(_ENTRIES_MAX), strict=False))
    except OSError:
        return []


def _text(path: Path) -> str:
    """The beginning of a regular file, links followed; empty where there is none to read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return os.read(descriptor, _FILE_MAX).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)
