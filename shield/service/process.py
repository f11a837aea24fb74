"""What makes the process itself hard to look into: no core, no tracer of the same user, nothing open by accident."""

import contextlib
import ctypes
import gc
import os
import resource
import sys

__all__ = ["harden", "settle_memory"]

_PR_SET_DUMPABLE = 4  # <linux/prctl.h>
_PT_DENY_ATTACH = 31  # macOS <sys/ptrace.h>


def harden(platform: str = sys.platform) -> tuple[str, ...]:
    """Set umask 077, forbid core dumps and tracing by processes of the same user. What could not be set is returned."""
    os.umask(0o077)
    said = []
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if platform == "linux":
            failed = libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0
        else:
            failed = libc.ptrace(_PT_DENY_ATTACH, 0, None, 0) != 0
    except (OSError, AttributeError):
        failed = True
    if failed:
        said.append("other processes of this user can look into Shield's memory: the system refused to forbid it")
    return tuple(said)


def settle_memory() -> None:
    """After the start: what is loaded stays, so the collector need not walk it again and again while verdicts wait."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
