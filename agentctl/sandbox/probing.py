"""Which levels hold on this machine: found out by trying to get past them, never by version.

For each level a small program runs in it and tries what the level forbids, on canaries made for it: read and write a
hidden file, connect to a hidden socket, signal and look into a process outside, and at `confined` write outside,
connect to a listener and send it a datagram. A level is offered only if it failed everywhere and could still do its
work.
"""

import contextlib
import json
import os
import shutil
import socket
import stat
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Final

from agentctl.errors import AgentError, SettingsError
from agentctl.sandbox import kernel
from agentctl.sandbox.landlock import LEAST_ABI
from agentctl.sandbox.offer import Means, Offer
from agentctl.sandbox.places import Places, listed
from agentctl.sandbox.profile import PROGRAM
from agentctl.sandbox.session import Sandbox
from agentctl.tools.child import Child
from shield.types import Isolation

__all__ = ["candidates", "probe", "trouble"]

_TRIAL_S: Final = 20.0
_DONE: Final = "done"
_COPY_ADVICE: Final = "install anew with `uv … --link-mode=copy` (or UV_LINK_MODE=copy)"
# Runs in the base interpreter, isolated; prints what it got past.
_ATTEMPTS: Final = """
import json, os, socket, sys
given = json.loads(sys.argv[1])
got = []
def attempt(name, work):
    try:
        work()
    except BaseException:
        return
    got.append(name)
def stream():
    os.chdir(given["hidden"])
    with socket.socket(socket.AF_UNIX) as end:
        end.settimeout(3)
        end.connect("s")
def internet():
    with socket.socket() as end:
        end.settimeout(3)
        end.connect(("127.0.0.1", given["tcp"]))
def datagram():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.sendto(b"x", ("127.0.0.1", given["udp"]))
attempt("read a hidden file", lambda: open(given["hidden"] + "/f").read())
attempt("write a hidden file", lambda: open(given["hidden"] + "/f", "a"))
attempt("list a hidden directory", lambda: [][len(os.listdir(given["hidden"])) - 1])
for place in given["places"]:
    attempt("list " + place, lambda: [][len(os.listdir(place)) - 1])
attempt("connect to a hidden socket", stream)
attempt("signal a process outside", lambda: os.kill(given["pid"], 0))
attempt("look into a process outside", lambda: open("/proc/%d/environ" % given["pid"]).read())
if given["confined"]:
    try:
        # in a directory that is private it only seems to work: it is looked for outside
        open(given["outside"], "w").close()
    except OSError:
        pass
    attempt("connect to a listener outside", internet)
    try:
        datagram()
    except OSError:
        pass
with open(given["work"] + "/w", "w") as file:
    file.write("done")
print(json.dumps(got))
"""


def probe(places: Places) -> Offer:
    """The levels that hold here, by the best means. Takes a tenth of a second; starts nothing that goes on.

    Raises SettingsError where only our own directories are in the way: a session is not to lose its sandbox by that.
    """
    shared = _shared_code()
    if shared is not None:
        return Offer(reasons=(f"{shared} has a second name, so a command could write it: {_COPY_ADVICE}",))
    reasons: list[str] = []
    for offer in candidates(reasons):
        _writable(places.scratch)
        levels = [Isolation.NONE]
        for level in (Isolation.STATE_HIDDEN, Isolation.CONFINED):
            wrong = trouble(replace(offer, levels=(Isolation.NONE, level)), places, level)
            if wrong is not None:
                reasons.append(f"{offer.means}: `{level}` does not hold: {wrong}")
                break
            levels.append(level)
        if len(levels) > 1:
            return replace(offer, levels=tuple(levels), reasons=tuple(dict.fromkeys(reasons)))
    return Offer(reasons=tuple(dict.fromkeys(reasons)))


def candidates(reasons: list[str]) -> Iterator[Offer]:
    """What to try, the best first; `reasons` gets why something is not among it."""
    if sys.platform == "darwin":
        yield Offer(means=Means.SANDBOX_EXEC, program=PROGRAM)
        return
    abi = kernel.landlock_abi()
    scopes = abi >= LEAST_ABI
    program = shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin")
    if program is None:
        reasons.append("bubblewrap is not installed: install the package `bubblewrap`")
    else:
        offer = Offer(means=Means.BUBBLEWRAP, program=os.path.realpath(program), scopes=scopes)
        for userns in (True, False) if os.geteuid() == 0 else (True,):
            for networks in (True, False):
                yield replace(offer, userns=userns, networks=networks)
    if not abi:
        reasons.append("the kernel has no Landlock, or it is not in its list of security modules (`lsm=`)")
    elif not scopes:
        reasons.append(f"the kernel's Landlock is version {abi}: {LEAST_ABI} is needed, which came with Linux 6.12")
    else:
        for networks in (True, False):
            yield Offer(means=Means.LANDLOCK, scopes=True, networks=networks)


def _writable(scratch: str) -> None:
    """INVARIANT: what cannot be tried for want of a place is no finding about this machine."""
    for folder, variable in ((scratch, "XDG_DATA_HOME"), (None, "TMPDIR")):
        try:
            if folder is not None:
                os.makedirs(folder, mode=0o700, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="agentctl-canary-", dir=folder):
                pass
        except OSError as error:
            what = "the directory for temporary files" if folder is None else f"`{folder}`"
            raise SettingsError(
                f"{what} cannot be written to, and no sandbox goes without it: {error.strerror};"
                f" set {variable} elsewhere, or give `--isolation none` to go on without a sandbox"
            ) from None


def _shared_code() -> str | None:
    """A file of the code that runs here which we may write and which has a second name (a hard link), None if none.

    No sandbox can tell the two names apart, and the other one may lie in a workspace: uv links what it installs to its
    cache, and so to the environments of projects. An installer does so with all files or with none: of packages that
    are not loaded here their first file is looked at.
    """
    files = {module.__file__ for module in sys.modules.values() if getattr(module, "__file__", None)}
    for folder in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}:
        files |= {os.path.join(folder, name, "__init__.py") for name in listed(folder)}
    for file in sorted(filter(None, files)):
        try:
            entry = os.stat(file)
        except OSError:
            continue
        if entry.st_nlink > 1 and stat.S_ISREG(entry.st_mode) and os.access(file, os.W_OK):
            return f"`{file}`"
    return None


def trouble(offer: Offer, places: Places, level: Isolation) -> str | None:
    """What is wrong with a level, None if it holds."""
    try:
        with ExitStack() as stack:
            return _tried(offer, places, level, stack)
    except (AgentError, OSError, KeyError) as error:
        return str(error)


def _tried(offer: Offer, places: Places, level: Isolation, stack: ExitStack) -> str | None:
    os.makedirs(places.scratch, mode=0o700, exist_ok=True)
    hidden = stack.enter_context(tempfile.TemporaryDirectory(prefix="canary-", dir=places.scratch))
    work = os.path.realpath(stack.enter_context(tempfile.TemporaryDirectory(prefix="agentctl-canary-")))
    with open(os.path.join(hidden, "f"), "w", encoding="ascii") as file:
        file.write("canary")
    stack.enter_context(_listening_at(hidden))
    tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
    udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    udp.bind(("127.0.0.1", 0))
    udp.setblocking(False)
    outside = os.path.join(places.home, f".agentctl-canary-{os.getpid()}")
    stack.callback(_gone, outside)
    given = {
        "confined": level is Isolation.CONFINED,
        "hidden": hidden,
        "outside": outside,
        "pid": os.getpid(),
        "places": [place for place in places.secret if os.path.isdir(place)],
        "tcp": tcp.getsockname()[1],
        "udp": udp.getsockname()[1],
        "work": work,
    }
    with Sandbox(replace(places, workspace_roots=(work,)), offer) as sandbox:
        descriptor = os.open(work, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        stack.callback(os.close, descriptor)
        argv = (os.path.realpath(sys.executable), "-I", "-S", "-c", _ATTEMPTS, json.dumps(given))
        child = Child(argv=argv, env={"PATH": "/usr/bin:/bin"}, cwd=descriptor, timeout_s=_TRIAL_S)
        output = sandbox.trial(child, level)
    said = {part.role: part.text.strip() for part in output.parts}
    try:
        got = json.loads(said.get("stdout", ""))
        with open(os.path.join(work, "w"), encoding="ascii") as file:
            worked = file.read() == _DONE
    except (ValueError, OSError):
        return said.get("stderr", "").replace("\n", "; ")[-300:] or str(output.note)
    if level is Isolation.CONFINED:
        with contextlib.suppress(BlockingIOError):
            udp.recv(1)
            got.append("send a datagram outside")
    if os.path.lexists(outside):
        got.append("write outside")
    if got:
        return f"a command could {', '.join(dict.fromkeys(got))}"
    return None if worked else "a command cannot write in its workspace"


@contextmanager
def _listening_at(folder: str) -> Iterator[None]:
    """A socket named `s` in a directory whose path may be longer than a socket's name can be."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(f"/proc/self/fd/{descriptor}/s")
            listener.listen()
            yield
    finally:
        os.close(descriptor)


def _gone(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
