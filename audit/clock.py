"""The clock a log stamps its records with."""

import os
import re
import time
from dataclasses import dataclass
from typing import Protocol

_BOOT_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")


class Clock(Protocol):
    """Wall time is a claim that can jump; the monotonic clock and the boot it belongs to expose the jump."""

    @property
    def boot_id(self) -> str:
        """Names the boot that `mono_ns` counts from, `[A-Za-z0-9._:-]{1,64}`."""

    def time_ms(self) -> int:
        """Unix time in milliseconds."""

    def mono_ns(self) -> int:
        """Nanoseconds of a clock that never goes back within one boot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemClock:
    """The clock of this machine."""

    boot_id: str

    @classmethod
    def read(cls) -> "SystemClock":
        """The system's own boot id, or a random one where it has none (then each start counts as a boot)."""
        try:
            with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
                found = file.read().strip()
        except (OSError, UnicodeDecodeError):
            found = ""
        return cls(boot_id=found if _BOOT_ID.fullmatch(found) else os.urandom(16).hex())

    def time_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def mono_ns(self) -> int:
        return time.monotonic_ns()
