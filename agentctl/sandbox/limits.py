"""What one call may use of the machine. Standard library only."""

import math
import os
import resource
from dataclasses import dataclass
from typing import Final

__all__ = ["Limits", "apply", "default_limits"]

FILE_BYTES: Final = 16 << 30  # one file; a core dump is never written
OPEN_FILES: Final = 65_536
PROCESSES: Final = 8_192  # of the user in all, so far above what a desktop has running; root is not counted
OOM_SCORE: Final = 500  # of 1000: when memory runs out, this goes before what the person works with


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Bounds of every process of a call; `data` are bytes of private writable memory, `cpu` seconds of one process.

    Not the address space: node, Java and Go reserve far more of it than they use. A bound is only ever lowered.
    """

    cpu: int
    data: int
    file: int = FILE_BYTES
    open_files: int = OPEN_FILES
    processes: int = PROCESSES


def default_limits(timeout_s: float) -> Limits:
    """No process computes longer than all cores could in the call's time, or holds more than the machine's memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Limits(cpu=math.ceil(timeout_s) * (os.cpu_count() or 1) + 1, data=memory)


def apply(limits: Limits) -> None:
    """Bind this process and what it starts. Raises OSError, ValueError."""
    bounds = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, limits.cpu),
        (resource.RLIMIT_DATA, limits.data),
        (resource.RLIMIT_FSIZE, limits.file),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_NPROC, limits.processes),
    ]
    for kind, bound in bounds:
        soft, hard = resource.getrlimit(kind)
        resource.setrlimit(kind, (_least(soft, bound), _least(hard, bound)))
    try:
        with open("/proc/self/oom_score_adj", "r+b", buffering=0) as file:
            if int(file.read()) < OOM_SCORE:
                file.write(str(OOM_SCORE).encode())
    except (OSError, ValueError):
        pass  # not Linux, or a container that hides it: only who is killed first differs


def _least(current: int, bound: int) -> int:
    return bound if current == resource.RLIM_INFINITY else min(current, bound)
