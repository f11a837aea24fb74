"""`python -P -m shield --embedded --ready-fd N [--approver-fd M] [--parent-fd P]`: Shield as the child of a client.

Of the environment only SHIELD_HOME counts (and where the user's directories are, and what tools are run with). It
begins an empty home by itself, writes one JSON line `{"socket","public_key","pid"}` to the ready descriptor when it
answers and closes it, writes a fresh approver token, which exists nowhere else, to the approver descriptor and closes
it, and ends on SIGTERM or when the parent descriptor, the read end of a pipe that the client holds open, comes to its
end: no orphan stays.
"""

import base64
import fcntl
import json
import os
import stat
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shield.config.home import Home, holds, home_from, user_home
from shield.errors import ConfigError, ShieldError
from shield.service.birth import with_approver
from shield.service.hooks import Hooks, Listening
from shield.service.run import serve
from shield.service.tokens import TokenBook

__all__ = ["embedded"]

EXIT_REFUSED = 2
_OPTIONS = ("--ready-fd", "--approver-fd", "--parent-fd")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Descriptors:
    ready: int
    approver: int | None
    parent: int | None


def embedded(arguments: Sequence[str]) -> int:
    """The exit code: 0 after an orderly end, 2 where it may not start; why is on standard error."""
    try:
        descriptors = _read(arguments)
        _serve(descriptors, os.environ)
    except ShieldError as error:
        print(f"shield: {error}", file=sys.stderr)
        return EXIT_REFUSED
    return 0


def _serve(descriptors: _Descriptors, environ: Mapping[str, str]) -> None:
    if not sys.flags.safe_path:
        raise ConfigError("start it as `python -P -m shield`: the current directory must not be imported from")
    home = home_from(environ)
    refuse_inside(home, os.getcwd(), environ)
    added = None
    if descriptors.approver is not None:
        book, secret = with_approver(TokenBook(()), now_ms=time.time_ns() // 1_000_000)
        added = book.tokens
        _write(descriptors.approver, secret.encode() + b"\n")

    def listening(at: Listening) -> None:
        line = {"socket": at.address, "public_key": base64.b64encode(at.public_key).decode(), "pid": os.getpid()}
        _write(descriptors.ready, json.dumps(line).encode() + b"\n")

    serve(
        home,
        Hooks(
            environ=environ,
            overrides={},
            listening=listening,
            said=lambda line: print(f"shield: {line}", file=sys.stderr),
            book=lambda book: TokenBook((*book.tokens, *(added or ()))),
            parent=descriptors.parent,
        ),
    )


def refuse_inside(home: Home, cwd: str, environ: Mapping[str, str]) -> None:
    """Raise ConfigError for a home in the workspace Shield is started from, where an agent could have prepared it."""
    here, user = os.path.realpath(cwd), os.path.realpath(user_home(environ))
    # `~` and what is above it can never be a workspace
    if holds(here, user):
        return
    if holds(here, home.path):
        raise ConfigError(f"SHIELD_HOME `{home.path}` lies in the workspace `{here}`; keep it outside")


def _read(arguments: Sequence[str]) -> _Descriptors:
    found: dict[str, int] = {}
    rest = list(arguments)
    while rest:
        name = rest.pop(0)
        text = rest.pop(0) if rest else ""
        if name not in _OPTIONS or name in found or not text.isascii() or not text.isdigit():
            raise ConfigError(f"`{name} {text}`: give {', '.join(f'`{option} N`' for option in _OPTIONS)}, each once")
        found[name] = _pipe(name, int(text))
    if "--ready-fd" not in found:
        raise ConfigError("`--ready-fd N` is missing: it names the descriptor that is told when Shield answers")
    if len(set(found.values())) != len(found):
        raise ConfigError("the descriptors must be different ones")
    return _Descriptors(ready=found["--ready-fd"], approver=found.get("--approver-fd"), parent=found.get("--parent-fd"))


def _pipe(name: str, descriptor: int) -> int:
    """INVARIANT: only a pipe or socket is written to, so that no token ever comes to lie on a disk."""
    try:
        mode = os.fstat(descriptor).st_mode
        if descriptor <= 2 or not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            raise ConfigError(f"`{name} {descriptor}` is no pipe or socket of its own; pass one end of a pipe")
        fcntl.fcntl(descriptor, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    except (OSError, OverflowError):
        raise ConfigError(f"`{name} {descriptor}` is not open; pass it to the child") from None
    return descriptor


def _write(descriptor: int, raw: bytes) -> None:
    try:
        with os.fdopen(descriptor, "wb") as pipe:
            pipe.write(raw)
    except OSError as error:
        raise ConfigError(f"the descriptor {descriptor} cannot be written to: {error.strerror}") from None
