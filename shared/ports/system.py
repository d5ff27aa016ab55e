"""Time and randomness, injected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable


class Clock(Protocol):
    """Time, injected."""

    def now_ms(self) -> int:
        """Return the wall clock in milliseconds since the epoch; may jump."""
        ...

    def monotonic_s(self) -> float:
        """Return seconds that never go back; no meaning outside this process."""
        ...


class Ids(Protocol):
    """Randomness, injected."""

    def random_bytes(self, count: int) -> bytes:
        """Return unguessable bytes."""
        ...

    def op_id(self) -> str:
        """Return a name for one write operation: unique, at most 16 characters."""
        ...

    def fraction(self) -> float:
        """Return a uniform number in [0, 1) for jitter."""
        ...


class Gate(Protocol):
    """Closed at first, then opened for good."""

    def wait(self) -> None:
        """Return when it is open; for the one caller who asked for the gate."""
        ...

    def open(self) -> None:
        """Let the waiting one go on; once, from any thread."""
        ...


class Waiting(Protocol):
    """How the present caller waits: a thread stands still; callers who share one let each other go on meanwhile."""

    def may_block(self) -> bool:
        """Say whether the present caller may stand still: nobody else needs its thread."""
        ...

    def gate(self) -> Gate:
        """Return a closed gate for the present caller."""
        ...

    def start(self, job: Callable[[], object]) -> None:
        """Have a job carried out by a thread that nobody waits for; from any thread.

        It may be put off for some milliseconds while ever more callers come whom it could serve as well.
        """
        ...

    def hurry(self) -> None:
        """Put nothing off any longer: somebody stands still; from any thread."""
        ...

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        ...
