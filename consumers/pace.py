"""How fast: polling that adapts, batches that shrink under pressure, and waits that are never in step."""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.ports.system import Ids

# A shard or task that is throttled is left to the door for about this long.
REST_S = 1.0
# Small steps back to the full batch.
BATCH_STEP = 4


def jittered(ids: Ids, seconds: float) -> float:
    """Return 0.5 to 1.5 times `seconds`, so that workers who stopped together do not come back together."""
    return seconds * (0.5 + ids.fraction())


def full_jitter(ids: Ids, base_s: float, doublings: int, cap_s: float) -> float:
    """Return a delay between 0 and the exponentially growing bound, at least a tenth of the base."""
    bound = min(cap_s, base_s * float(1 << min(doublings, 30)))
    return max(base_s / 10, bound * ids.fraction())


@dataclass(slots=True)
class Pace:
    """The size of a task's batches, and whether it rests; times are monotonic seconds."""

    ids: Ids
    most: int
    size: int = field(init=False)
    rests_until_s: float = 0.0

    def __post_init__(self) -> None:
        """Begin at full size."""
        self.size = self.most

    def give_way(self, now_s: float, seconds: float = REST_S) -> None:
        """Halve the batch and leave the shards alone for a jittered while."""
        self.size = max(1, self.size // 2)
        self.rests_until_s = now_s + jittered(self.ids, seconds)

    def note(self, now_s: float, *, tried: int, gone: int) -> None:
        """Give way when more than half of a batch was done already; else take a small step up."""
        if 2 * gone > tried > 1:
            self.give_way(now_s)
        else:
            self.size = min(self.most, self.size + BATCH_STEP)


@dataclass(slots=True)
class Poll:
    """When to look next: at once while something is found, ever more rarely while nothing is."""

    base_s: float
    idle_s: float
    next_s: float = 0.0
    _interval_s: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin as if busy."""
        self._interval_s = self.base_s

    def is_due(self, now_s: float) -> bool:
        """Say whether it is time to look."""
        return now_s >= self.next_s

    def looked(self, now_s: float, *, found: bool) -> None:
        """Set the next look after one that found something or nothing."""
        self._interval_s = self.base_s if found else min(self.idle_s, self._interval_s * 2)
        self.next_s = now_s + self._interval_s

    def hurry(self, now_s: float) -> None:
        """Go at the busy pace again, because something was found nearby."""
        self._interval_s = self.base_s
        self.next_s = min(self.next_s, now_s + self.base_s)

    def wake(self, now_s: float) -> None:
        """Look at once."""
        self._interval_s = self.base_s
        self.next_s = min(self.next_s, now_s)

    def rest(self, now_s: float, seconds: float) -> None:
        """Do not look for a while."""
        self.next_s = now_s + seconds
