"""Time that moves only when told, for measurements that are about counts and not about time."""

from __future__ import annotations

from shared.system import SystemClock


class StepClock:
    """A clock that starts at the present and stands still until `advance`."""

    def __init__(self) -> None:
        """Start now."""
        self._at_ms = SystemClock().now_ms()

    def now_ms(self) -> int:
        """Return the wall clock."""
        return self._at_ms

    def monotonic_s(self) -> float:
        """Return seconds that never go back."""
        return self._at_ms / 1000

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._at_ms += round(seconds * 1000)
