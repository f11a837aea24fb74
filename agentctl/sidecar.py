"""Finding the Shield of a home, or starting one beside us that ends when we do.

An embedded Shield is a process of its own, never an import. It is told three descriptors: where to say that it listens,
where to put a fresh approver token, and a pipe whose other end is ours, so that it ends when we are gone, however that
happens. The token's pipe is read by the approver prompt only: this process closes its copies without reading.
"""

import asyncio
import base64
import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, Self

from agentctl.errors import SidecarError
from agentctl.execute import REEVALUATIONS, BeforeRedeem, ShieldGate
from agentctl.program import first_line, import_path, python_command
from agentctl.sandbox import Sandbox, with_session
from agentctl.sandbox.confinement import Confinement
from agentctl.tools.web import Network
from shield.client import AsyncClient, Endpoint, agent_token, check_home, pinned_key
from shield.errors import ClientError, ConfigError, Reason
from shield.types import Isolation
from shield.user import user_home

__all__ = ["Sidecar", "find", "open_gate", "start"]

READY_S: Final = 30.0
_STOP_S: Final = 10.0
_TELL_MAX: Final = 4096
_ITS_OWN: Final = "shield: "  # begins what Shield itself says on standard error
_TAKEN: Final = "another Shield runs on "  # begins what it says where the home is in use
# What an embedded Shield may know of our environment: what its tools are run with, and nothing that steers Python.
_PASSED: Final = (
    "HOME",
    "LANG",
    "LOGNAME",
    "PATH",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    # where our own directories are, for Shield to protect them, and where it remembers its log
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
)


@dataclass(slots=True, kw_only=True)
class Sidecar:
    """A Shield that answers. `public_key` is what it told us by a descriptor, where we started it, else what it
    published in its home: a session is opened with that Shield alone. `remarks` are what one of ours had to say before
    it answered, of its log for instance. `close` ends one of ours."""

    endpoint: Endpoint
    token: str = field(repr=False)
    embedded: bool
    public_key: bytes | None = None
    remarks: tuple[str, ...] = ()
    pid: int | None = None
    _process: subprocess.Popen[bytes] | None = None
    _leash: int = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the Shield that we started, gracefully: it finishes and seals its log. Does nothing otherwise."""
        if self._leash >= 0:
            os.close(self._leash)
            self._leash = -1
        if self._process is not None:
            _end(self._process)
            self._process = None


async def find(home: Path) -> Sidecar | None:
    """The Shield that answers on the home's socket, pinned by the key it published there; None where there is none.

    Raises ClientError where something is there that must not be talked to.
    """
    endpoint = Endpoint(socket=_socket(home))
    check_home(home)
    token = None
    try:
        token = agent_token(home)
        async with AsyncClient(endpoint, token) as client:
            await client.ready()
    except ClientError as error:
        if error.reason is Reason.SERVICE_UNREACHABLE:
            return None
        if error.reason is Reason.AUTH_INVALID and token is not None:
            file = home / "tokens" / "agent.token"
            raise ClientError(
                f"the Shield that runs does not know the token in `{file}`; restart it", reason=error.reason
            ) from None
        raise
    return Sidecar(endpoint=endpoint, token=token, embedded=False, public_key=pinned_key(home))


def start(
    home: Path,
    *,
    workspace: Path,
    environ: Mapping[str, str],
    approver_fd: int | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Sidecar:
    """Start an embedded Shield and wait until it listens. Raises SidecarError with what it said."""
    here = os.path.realpath(workspace)
    if (os.path.realpath(home) + "/").startswith(here.rstrip("/") + "/"):
        user = _user(environ)
        if user is not None and (os.path.realpath(user) + "/").startswith(here.rstrip("/") + "/"):
            raise SidecarError(f"`{here}` is or holds your home directory, where no agent works; go to a project in it")
        raise SidecarError(f"SHIELD_HOME `{home}` lies in the workspace `{here}`; keep it outside")
    try:
        check_home(home, workspace=workspace, user=_user(environ))
    except ClientError as error:
        raise SidecarError(error.detail) from None
    ready_read, ready_write = os.pipe()
    parent_read, leash = os.pipe()
    passed = [ready_write, parent_read]
    command = [*python_command("shield"), "--embedded", "--ready-fd", str(ready_write), "--parent-fd", str(parent_read)]
    if approver_fd is not None:
        command += ["--approver-fd", str(approver_fd)]
        passed.append(approver_fd)
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(  # noqa: S603  # our own program
                command,
                env=_environment(home, environ),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                pass_fds=passed,
                # a group of its own: Ctrl-C at the terminal stops a turn, not Shield
                start_new_session=True,
            )
        except OSError as error:
            os.close(leash)
            os.close(ready_read)
            raise SidecarError(f"Shield cannot be started: {error.strerror}") from None
        finally:
            os.close(ready_write)
            os.close(parent_read)
        line = first_line(ready_read, clock() + READY_S, clock)
        try:
            told = json.loads(line)
            address = Path(told["socket"])
            endpoint = Endpoint(socket=address)
            key = base64.b64decode(told["public_key"], validate=True)
            token = agent_token(home)
        except (ValueError, KeyError, TypeError, ClientError):
            os.close(leash)
            _end(process)
            why = " ".join(_lines(said)[-3:]).removeprefix(_ITS_OWN) or "it said nothing; `shield serve` may tell more"
            raise SidecarError(_unreached(home) if why.startswith(_TAKEN) else f"Shield did not start: {why}") from None
        if not address.is_absolute():
            os.close(leash)
            _end(process)
            raise SidecarError(
                f"`service.tcp` in `{home / 'shield.toml'}` has Shield listen on `{address}`, and agentctl knows its"
                " socket only: leave it out, or set SHIELD_HOME to a home of its own"
            )
        remarks = tuple(line.removeprefix(_ITS_OWN) for line in _lines(said) if line.startswith(_ITS_OWN))
    return Sidecar(
        endpoint=endpoint,
        token=token,
        embedded=True,
        public_key=key,
        remarks=remarks,
        pid=process.pid,
        _process=process,
        _leash=leash,
    )


def _unreached(home: Path) -> str:
    """A Shield runs on the home, but not where we look for it: it cannot be used, so say what can be done."""
    return (
        f"another Shield runs on `{home}` and does not answer on `{_socket(home)}`, where alone agentctl looks for it:"
        " `service.tcp` or `service.socket` has it listen elsewhere; leave them out, stop it, or set SHIELD_HOME to a"
        " home of its own"
    )


def _socket(home: Path) -> Path:
    return home / "run" / "shield.sock"


def _lines(said: BinaryIO) -> list[str]:
    """The newest lines that it said, of `_TELL_MAX` bytes at most. It may still write: a seek would move where."""
    end = os.fstat(said.fileno()).st_size
    raw = os.pread(said.fileno(), _TELL_MAX, max(0, end - _TELL_MAX))
    return raw.decode("utf-8", "replace").strip().splitlines()


@asynccontextmanager
async def open_gate(
    *,
    home: Path,
    workspace: Path,
    environ: Mapping[str, str],
    label: str | None = None,
    confinement: Confinement | None = None,
    sidecar: Sidecar | None = None,
    approver_fd: int | None = None,
    before_redeem: BeforeRedeem | None = None,
    reevaluations: int = REEVALUATIONS,
    network: Network | None = None,
) -> AsyncIterator[ShieldGate]:
    """A gate in a fresh session of the home's Shield: the given one, else one that answers, else one started here.

    `workspace` is absolute. Raises SidecarError, ClientError (`workspace.untrusted`: no person trusted it yet).
    """
    ours = None
    check_home(home, workspace=workspace, user=_user(environ))
    if sidecar is None:
        sidecar = await find(home)
    if sidecar is None:
        sidecar = ours = await asyncio.to_thread(
            start, home, workspace=workspace, environ=environ, approver_fd=approver_fd
        )
    try:
        async with AsyncClient(sidecar.endpoint, sidecar.token) as client:
            level = Isolation.NONE if confinement is None else confinement.offer.strongest
            session = await client.open_session([str(workspace)], isolation=level, label=label)
            if sidecar.public_key is not None and session.public_key != sidecar.public_key:
                raise ClientError(
                    "another Shield than the one whose key was pinned answers; nothing is run",
                    reason=Reason.SERVICE_IMPOSTOR,
                )
            with contextlib.ExitStack() as stack:
                sandbox = None
                if confinement is not None:
                    places = with_session(confinement.places, session.hidden, session.workspace_roots)
                    sandbox = stack.enter_context(Sandbox(places, confinement.offer))
                yield ShieldGate(
                    client,
                    session,
                    sandbox=sandbox,
                    network=network,
                    before_redeem=before_redeem,
                    reevaluations=reevaluations,
                )
    finally:
        if ours is not None:
            await asyncio.to_thread(ours.close)


def _user(environ: Mapping[str, str]) -> Path | None:
    try:
        return Path(user_home(environ))
    except ConfigError:
        return None


def _environment(home: Path, environ: Mapping[str, str]) -> dict[str, str]:
    env = {name: value for name, value in environ.items() if name in _PASSED or name.startswith("LC_")}
    env["SHIELD_HOME"] = str(home)
    return env | import_path()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end, then make it end; it is waited for."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        process.send_signal(sign)
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            continue
        return
