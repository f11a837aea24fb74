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
    """Bounds of every process of a call; `cpu` are seconds of one process. A bound is only ever lowered.

    None of memory: what the kernel bounds is what a process has reserved, which is 16 TB for a sanitizer, and for node,
    Java and Go far more than they use. When memory runs out, what a call started is ended first.
    """

    cpu: int
    file: int = FILE_BYTES
    open_files: int = OPEN_FILES
    processes: int = PROCESSES


def default_limits(timeout_s: float) -> Limits:
    """No process computes longer than all cores could in the call's time."""
    return Limits(cpu=math.ceil(timeout_s) * (os.cpu_count() or 1) + 1)


def apply(limits: Limits) -> None:
    """Bind this process and what it starts. Raises OSError, ValueError."""
    bounds = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, limits.cpu),
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
