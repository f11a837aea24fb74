"""What agentctl asks of its spawner for one call, and what comes back. Standard library only.

An order is one JSON object after its length in four bytes. It goes to the child that will become the command, with the
command's streams and directory; what the supervisor has to know comes in a frame of its own. Nothing in it is judged on
the other side: it is carried out as it stands or not at all.
"""

import base64
import json
import struct
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, Final

from agentctl.sandbox.limits import Limits

__all__ = [
    "DESCRIPTORS",
    "FRAME",
    "HEADER",
    "Network",
    "Order",
    "Report",
    "decode_order",
    "encode_order",
]

DESCRIPTORS: Final = 4  # that come with an order: stdin, stdout, stderr, directory; a fifth may be a Landlock ruleset
HEADER: Final = struct.Struct("!I")
FRAME: Final = struct.Struct("!d?")  # for the supervisor: seconds until it ends the call, whether there is a wrapper


class Network(Enum):
    """Which network the child is in."""

    HOST = "host"
    LISTENER = "listener"  # a namespace with nothing in it but a listener on its loopback, which is handed back


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """`argv` runs in the directory whose descriptor came along, with exactly `env`.

    `wrapper`: a program and its options that start `argv` (bubblewrap); it installs `seccomp` then. `landlock`: a
    ruleset to enter came along, too. `pinned`: (path, device, inode) of what must still stand there before the start.
    """

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    umask: int
    deadline_s: float
    limits: Limits
    wrapper: tuple[str, ...] = ()
    landlock: bool = False
    seccomp: bytes = b""
    network: Network = Network.HOST
    listen: int = 0  # the port of LISTENER
    privileges: bool = True  # False: no_new_privileges, and no capabilities
    pinned: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How a call ended. `exit_code` or `signal` is set where it ran, `failed` says why it did not.

    `unset`: it failed in the making of its sandbox, before anything of the command was started.
    `left`: processes that the command left behind and that were ended; `stuck`: those that could not be.
    """

    exit_code: int | None = None
    signal: int | None = None
    failed: str | None = None
    unset: bool = False
    left: int = 0
    stuck: int = 0


def encode_order(order: Order) -> bytes:
    """The bytes of an order, with their length before them."""
    value = {name: getattr(order, name) for name in Order.__slots__}
    value["limits"] = asdict(order.limits)
    value["seccomp"] = base64.b64encode(order.seccomp).decode("ascii")
    value["network"] = order.network.value
    # ASCII only: names of files that are no text travel as lone surrogates
    body = json.dumps(value, separators=(",", ":")).encode("ascii")
    return HEADER.pack(len(body)) + body


def decode_order(body: bytes) -> Order:
    """The order in these bytes, without the length. Raises ValueError, KeyError, TypeError."""
    value: dict[str, Any] = json.loads(body)
    value["argv"] = tuple(value["argv"])
    value["env"] = tuple((name, text) for name, text in value["env"])
    value["limits"] = Limits(**value["limits"])
    value["wrapper"] = tuple(value["wrapper"])
    value["seccomp"] = base64.b64decode(value["seccomp"], validate=True)
    value["network"] = Network(value["network"])
    value["pinned"] = tuple((path, device, inode) for path, device, inode in value["pinned"])
    return Order(**value)
