"""A process that others of the same user cannot look into: no tracing, no core, no `/proc/PID/mem|environ|fd`."""

import ctypes
import resource
import sys
from typing import Final

__all__ = ["keep_private"]

_PR_SET_DUMPABLE: Final = 4  # <linux/prctl.h>
_PT_DENY_ATTACH: Final = 31  # <sys/ptrace.h> of macOS


def keep_private(platform: str = sys.platform) -> bool:
    """Whether the system granted it. Children get it back with exec(2); root can look all the same."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if platform == "linux":
            return bool(libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) == 0)
        return bool(libc.ptrace(_PT_DENY_ATTACH, 0, None, 0) == 0)
    except (OSError, AttributeError):
        return False
