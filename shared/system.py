"""The real clock and the real source of randomness."""

from __future__ import annotations

import os
import secrets
import time
from pathlib import Path


class SystemClock:
    """The machine's own time."""

    def now_ms(self) -> int:
        """Return the wall clock in milliseconds since the epoch."""
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        """Return the machine's monotonic seconds."""
        return time.monotonic()


def sleep_s(seconds: float) -> None:
    """Let the calling thread wait."""
    time.sleep(seconds)


def process_age_s() -> float:
    """Return the seconds since this process began; 0 where the system does not tell.

    Field 22 of proc_pid_stat(5) counts clock ticks from the start of the machine.
    """
    try:
        fields = Path("/proc/self/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
        began_s = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began_s)
    except (OSError, AttributeError, ValueError, IndexError):
        return 0.0


class SystemIds:
    """The operating system's random numbers."""

    def random_bytes(self, count: int) -> bytes:
        """Return unguessable bytes."""
        return secrets.token_bytes(count)

    def op_id(self) -> str:
        """Return 64 random bits as text: within one order's few writes no two agree."""
        return secrets.token_hex(8)

    def fraction(self) -> float:
        """Return a uniform number in [0, 1)."""
        return secrets.randbelow(2**53) / 2**53
