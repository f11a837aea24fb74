"""A workspace whose file tools run on real receipts: the identities are those that Shield's facts give."""

import ctypes
import errno
import os
import pickle
import struct
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentctl.tools.descriptors import by_component, walk_here
from agentctl.tools.output import Output
from agentctl.tools.process import run
from agentctl.tools.stop import Stop
from agentctl.tools.table import carry_out
from agentctl.tools.warrant import Warrant, canonical_action
from agentctl.tools.web import SystemNetwork
from shield import canonical
from shield.actions.registry import lookup
from shield.actions.request import make_action
from shield.facts.compute import compute
from shield.facts.files import identities
from shield.facts.local import LocalFiles
from shield.facts.place import Place
from shield.permits import PermitKey, Receipt, state_digest

NOBODY = 65534


@dataclass
class Workshop:
    """`warrant` is the moment of the receipt, `run` the moment of use; `do` is both with nothing between."""

    workspace: Path
    key: PermitKey

    def warrant(self, kind: str, **payload: Any) -> Warrant:
        place = Place(
            files=LocalFiles(),
            home=str(self.workspace.parent),
            cwd=str(self.workspace),
            workspace_roots=(str(self.workspace),),
            env={"PATH": "/usr/bin:/bin"},
        )
        action = make_action(kind, payload, str(self.workspace))
        files = identities(action, compute(action, lookup(kind), place), place)
        assert files is not None
        raw = canonical_action(kind, payload, str(self.workspace))
        receipt = Receipt(
            jti="j",
            act=canonical.digest(raw),
            state=state_digest(files),
            nonce="n",
            seq=1,
            exp=1000,
            files=files,
            shell="/bin/bash",
            env={"PATH": "/usr/bin:/bin"},
            allow_hosts=(),
        )
        token = self.key.sign_receipt(receipt)
        return Warrant(token, public_key=self.key.public, action=raw, jti="j", nonce="n", now_s=999.0)

    def run(self, warrant: Warrant, stop: Stop | None = None) -> Output:
        return carry_out(warrant, stop or Stop(), run, SystemNetwork())

    def do(self, kind: str, **payload: Any) -> Output:
        return self.run(self.warrant(kind, **payload))

    def names(self) -> list[str]:
        """Everything in the workspace, as relative paths."""
        return sorted(str(path.relative_to(self.workspace)) for path in self.workspace.rglob("*"))


@pytest.fixture
def shop() -> Iterator[Workshop]:
    with tempfile.TemporaryDirectory(prefix="ws") as folder:
        workspace = Path(folder).resolve() / "ws"
        workspace.mkdir()
        yield Workshop(workspace, PermitKey())


class NotHereError(Exception):
    """This machine does not offer what a test needs."""


def _in_child(before: Callable[[], None], work: Callable[[], Any]) -> Any:
    """What `work` returns in a process of its own, after `before`; its exception as text with its type."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            before()
            answer = pickle.dumps(work())
        except BaseException as error:  # noqa: BLE001  # told to the parent, whatever it is
            answer = pickle.dumps(f"{type(error).__name__}: {error}")
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(pid, 0)
    found = pickle.loads(answer)
    if isinstance(found, str) and found.startswith(NotHereError.__name__):
        pytest.skip(found)
    return found


@pytest.fixture
def as_nobody(shop: Workshop) -> Callable[[Callable[[], Any]], Any]:
    """Run something as an unprivileged user who owns the workspace."""
    if os.getuid() != 0:
        pytest.skip("only root becomes another user")

    def nobody() -> None:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)

    shop.workspace.parent.chmod(0o711)
    os.chown(shop.workspace, NOBODY, NOBODY)
    return lambda work: _in_child(nobody, work)


@pytest.fixture
def on_old_kernel() -> Callable[[Callable[[], Any]], Any]:
    """Run something where openat2, renameat2 and O_TMPFILE do not exist: a seccomp filter says so."""
    if os.uname().machine != "x86_64":
        pytest.skip("the filter is written for x86_64")

    def forget() -> None:
        walk_here.cache_clear()
        _filter_calls()
        assert walk_here() is by_component

    return lambda work: _in_child(forget, work)


@pytest.fixture
def on_small_disk(shop: Workshop) -> Callable[[Callable[[], Any]], Any]:
    """Run something with a file system of 256 KiB in the place of the workspace's `small`."""
    if os.getuid() != 0:
        pytest.skip("only root mounts")
    folder = shop.workspace / "small"
    folder.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)

    def mount() -> None:
        if libc.unshare(0x20000) or libc.mount(None, b"/", None, 0x44000, None):  # CLONE_NEWNS; MS_REC | MS_PRIVATE
            raise NotHereError("no mount namespace")
        if libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"size=256k"):
            raise NotHereError("no tmpfs")

    return lambda work: _in_child(mount, work)


@pytest.fixture
def on_overlay(shop: Workshop) -> Callable[[Callable[[], Any]], Any]:
    """Run something in a workspace that is an overlay, as containers have: what is there now is its lower layer."""
    if os.getuid() != 0:
        pytest.skip("only root mounts")
    upper = shop.workspace.parent / "upper"
    for folder in (upper, upper / "u", upper / "w"):
        folder.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"lowerdir={shop.workspace},upperdir={upper}/u,workdir={upper}/w"

    def mount() -> None:
        if libc.unshare(0x20000) or libc.mount(None, b"/", None, 0x44000, None):
            raise NotHereError("no mount namespace")
        if libc.mount(b"overlay", os.fsencode(shop.workspace), b"overlay", 0, options.encode()):
            raise NotHereError("no overlay")

    return lambda work: _in_child(mount, work)


def _filter_calls() -> None:
    """seccomp(2): openat2 ENOSYS, renameat2 EINVAL, openat with O_TMPFILE EOPNOTSUPP; anything else goes on."""
    load, jump, test_bits, answer = 0x20, 0x15, 0x45, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000
    program = [
        (load, 0, 0, 0),
        (jump, 0, 1, 437),
        (answer, 0, 0, refuse | errno.ENOSYS),
        (jump, 0, 1, 316),
        (answer, 0, 0, refuse | errno.EINVAL),
        (jump, 0, 3, 257),
        (load, 0, 0, 32),  # the third argument's lower half
        (test_bits, 0, 1, 0o20000000),
        (answer, 0, 0, refuse | errno.EOPNOTSUPP),
        (answer, 0, 0, allow),
    ]
    raw = b"".join(struct.pack("<HBBI", *step) for step in program)
    buffer = ctypes.create_string_buffer(raw, len(raw))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    libc = ctypes.CDLL(None, use_errno=True)
    value = Program(len(program), ctypes.addressof(buffer))
    assert libc.prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert libc.prctl(22, 2, ctypes.byref(value), 0, 0) == 0, ctypes.get_errno()  # PR_SET_SECCOMP
