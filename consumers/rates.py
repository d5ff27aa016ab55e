"""Limits on how many orders leave the line per second: of one worker, and of one event over all workers.

An event's limit is divided by its allocation groups. Each group has one owner, so the parts sum to the limit however
many workers there are, and nobody has to ask anybody.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from consumers.tasks import GroupTask
from shared.domain.sale import Sale

# So much of a second's orders may come at once after a pause.
BURST_S = 0.25
UNLIMITED = 1_000_000_000


@dataclass(slots=True)
class Allowance:
    """A token bucket of `per_s` orders per second. What is spent beyond it is paid off before there is more."""

    per_s: float
    _tokens: float = field(init=False)
    _at_s: float = float("-inf")

    def __post_init__(self) -> None:
        """Begin full."""
        self._tokens = self._most

    def left(self, now_s: float) -> int:
        """Return how many orders may be taken now."""
        self._tokens = min(self._most, self._tokens + max(0.0, now_s - self._at_s) * self.per_s)
        self._at_s = max(self._at_s, now_s)
        return max(0, int(self._tokens))

    def spend(self, orders: int) -> None:
        """Count orders that were taken."""
        self._tokens -= orders

    @property
    def next_in_s(self) -> float:
        """Seconds until the next order may be taken, as of the last look."""
        return max(0.0, (1 - self._tokens) / self.per_s)

    @property
    def _most(self) -> float:
        return max(1.0, self.per_s * BURST_S)


@dataclass(slots=True)
class Rates:
    """One worker's limits; None: as fast as it can. Times are monotonic seconds."""

    worker_per_s: float | None = None
    event_per_s: float | None = None
    _worker: Allowance | None = field(init=False)
    _groups: dict[GroupTask, Allowance] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with nothing spent."""
        self._worker = None if self.worker_per_s is None else Allowance(self.worker_per_s)

    def left(self, sale: Sale, task: GroupTask, now_s: float) -> tuple[int, float]:
        """Return (orders that may leave the group's line now, seconds until there may be more if there are none)."""
        bounds = [allowance for allowance in (self._worker, self._group(sale, task)) if allowance is not None]
        left = min((allowance.left(now_s) for allowance in bounds), default=UNLIMITED)
        return left, max((allowance.next_in_s for allowance in bounds), default=0.0)

    def spend(self, sale: Sale, task: GroupTask, orders: int) -> None:
        """Count orders that left the group's line."""
        for allowance in (self._worker, self._group(sale, task)):
            if allowance is not None:
                allowance.spend(orders)

    def forget(self, task: GroupTask) -> None:
        """Forget a group that somebody else has now."""
        self._groups.pop(task, None)

    def _group(self, sale: Sale, task: GroupTask) -> Allowance | None:
        if self.event_per_s is None:
            return None
        return self._groups.setdefault(task, Allowance(self.event_per_s / sale.groups))
