"""Who is at the other end of a Unix socket, as the kernel says."""

import socket
import struct
import sys
from dataclasses import dataclass

__all__ = ["Peer", "peer_of"]

_SOL_LOCAL = 0  # macOS <sys/un.h>
_LOCAL_PEERCRED = 1
_XUCRED = "Iih"  # struct xucred: version, uid, number of groups


@dataclass(frozen=True, slots=True)
class Peer:
    """The identity at connect() time. `uid` is dependable; `pid` may have been recycled and is only a hint."""

    uid: int
    pid: int | None = None


def peer_of(connection: socket.socket, platform: str = sys.platform) -> Peer | None:
    """SO_PEERCRED on Linux, LOCAL_PEERCRED on macOS; None where there is none (TCP)."""
    if connection.family != socket.AF_UNIX:
        return None
    try:
        if platform == "linux":
            pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            return Peer(uid=uid, pid=pid)
        raw = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)
        _, uid, _ = struct.unpack_from(_XUCRED, raw)
    except (OSError, struct.error):
        return None
    return Peer(uid=uid)
