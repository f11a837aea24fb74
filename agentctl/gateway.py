"""How a gate comes about: a Shield that is found or started here, with its prompt, and a workspace that is trusted."""

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from agentctl.config import Settings
from agentctl.errors import SidecarError
from agentctl.execute import ShieldGate
from agentctl.program import import_path, python_command
from agentctl.sandbox.confinement import Confinement, choose
from agentctl.sandbox.offer import Offer
from agentctl.sidecar import Sidecar, find, open_gate, start
from agentctl.ui.person import Asked, Person, at_terminal
from agentctl.ui.screen import Screen
from agentctl.ui.text import single_line
from shield.client import AsyncClient
from shield.errors import ClientError, Reason
from shield.types import Isolation, Json

__all__ = ["gateway"]


@asynccontextmanager
async def gateway(
    settings: Settings, workspace: Path, environ: Mapping[str, str], screen: Screen, *, person: Person | None
) -> AsyncIterator[tuple[ShieldGate, Asked]]:
    """A gate, and who is asked: by the home's Shield, or by an embedded one with or without the prompt."""
    async with AsyncExitStack() as stack:
        sidecar = await find(settings.home)
        asks = Asked.ELSEWHERE
        if sidecar is None:
            sidecar, asks = stack.enter_context(
                _embedded(settings, workspace, environ, with_person=at_terminal(person))
            )
        confinement = await asyncio.to_thread(choose, settings, workspace, environ=environ)
        try:
            gate = await stack.enter_async_context(_session(settings, workspace, environ, sidecar, confinement))
        except ClientError as error:
            if error.reason is not Reason.WORKSPACE_UNTRUSTED or not at_terminal(person):
                raise
            screen.line(f"`{workspace}` is not trusted as a workspace yet")
            if not await asyncio.to_thread(_trust, settings, workspace, environ):
                raise SidecarError("nothing is run in a directory that is not trusted") from None
            gate = await stack.enter_async_context(_session(settings, workspace, environ, sidecar, confinement))
        screen.line(await _start_line(sidecar, gate, confinement.offer, asks=asks))
        yield gate, asks


def _session(
    settings: Settings, workspace: Path, environ: Mapping[str, str], sidecar: Sidecar, confinement: Confinement
) -> "contextlib.AbstractAsyncContextManager[ShieldGate]":
    return open_gate(
        home=settings.home,
        workspace=workspace,
        environ=environ,
        label="agentctl",
        sidecar=sidecar,
        confinement=confinement,
    )


@contextmanager
def _embedded(
    settings: Settings, workspace: Path, environ: Mapping[str, str], *, with_person: bool
) -> Iterator[tuple[Sidecar, Asked]]:
    """A Shield of ours, and who is asked: the person here where a prompt runs beside it, otherwise nobody.

    INVARIANT: the approver's token goes from Shield to the prompt; this process never reads the pipe it goes through.
    """
    if not with_person:
        with start(settings.home, workspace=workspace, environ=environ) as sidecar:
            yield sidecar, Asked.NOBODY
        return
    token_read, token_write = os.pipe()
    prompt: subprocess.Popen[bytes] | None = None
    try:
        try:
            sidecar = start(settings.home, workspace=workspace, environ=environ, approver_fd=token_write)
        finally:
            os.close(token_write)
        with sidecar:
            with _interrupts_wait():
                prompt = subprocess.Popen(  # noqa: S603  # our own program
                    [
                        *python_command("agentctl.ui.approver"),
                        "--socket",
                        str(sidecar.endpoint.socket),
                        "--token-fd",
                        str(token_read),
                        "--term",
                        environ.get("TERM") or "dumb",
                    ],
                    env=_plain(settings, environ),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    cwd="/",
                    pass_fds=(token_read,),
                )
            os.close(token_read)
            token_read = -1
            yield sidecar, Asked.HERE
    finally:
        if token_read >= 0:
            os.close(token_read)
        if prompt is not None:
            prompt.terminate()
            prompt.wait()


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Ctrl-C waits meanwhile, and for a child begun here until it says otherwise: none dies of it while it starts."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _trust(settings: Settings, workspace: Path, environ: Mapping[str, str]) -> bool:
    """`shield trust DIR` asks the person on the terminal; what they say is Shield's business."""
    asked = subprocess.run(  # noqa: S603  # our own program
        [*python_command("shield"), "trust", str(workspace)], env=_plain(settings, environ), cwd="/", check=False
    )
    return asked.returncode == 0


def _plain(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    kept = ("HOME", "LANG", "PATH", "TERM", "USER", "LOGNAME")
    env = {name: environ[name] for name in kept if name in environ}
    return env | {"SHIELD_HOME": str(settings.home)} | import_path()


async def _start_line(sidecar: Sidecar, gate: ShieldGate, offer: Offer, *, asks: Asked) -> str:
    log, found = "", None
    async with AsyncClient(sidecar.endpoint, sidecar.token) as client:
        with contextlib.suppress(ClientError):
            report = (await client.ready()).report
            found = report.get("notes")
            said = report.get("log")
            if isinstance(said, dict) and isinstance(said.get("size"), int):
                # who knows the log's own name notices that another was begun
                name = single_line(str(said.get("id", "")).rpartition("/")[2])
                log = f" · log {name}, {said['size']} records"
    shield = "embedded, started here" if sidecar.embedded else "found"
    return (
        f"Shield: {shield} · {asks}{log}\n"
        f"session {gate.session.id} · isolation {gate.isolation.value}{_sandbox_line(offer)}\n"
        f"workspace {gate.cwd}"
        + "".join(f"\nnote: {single_line(note, 1000)}" for note in _notes(sidecar.remarks, found))
    )


def _notes(remarks: Sequence[str], found: Json) -> list[str]:
    """What stands in no way and a person should know: the remarks of one that we started, and what it has `found` by
    now. Where a remark is of the log, it says more than what was found of the first place that remembers it; of the
    other places nothing was said before."""
    items = [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []
    told = any(map(_is_of_the_log, remarks))
    known = next((item for item in items if told and item.get("reason") == "audit.outside"), None)
    return [*remarks, *(str(item.get("detail")) for item in items if item is not known)]


def _is_of_the_log(remark: str) -> bool:
    """Whether Shield had to say something odd of what remembers its log. That it began one is not odd."""
    return "the log" in remark and not remark.startswith("began ")


def _sandbox_line(offer: Offer) -> str:
    """What holds the level; where nothing does, what will be asked about and how to change that."""
    if offer.means is not None and offer.strongest is Isolation.CONFINED:
        return f" ({offer.means.value})"
    why = "".join(f"\n  {reason}" for reason in offer.reasons)
    if offer.means is not None and offer.strongest is Isolation.STATE_HIDDEN:
        return f" ({offer.means.value}): installing packages is asked about{why}"
    return f" (no sandbox): tests, builds, scripts and installing packages are asked about{why}"
