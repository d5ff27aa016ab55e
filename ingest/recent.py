"""What a process took in the last second, so that no second ever holds more than is allowed."""

from __future__ import annotations

import math
from collections import deque

SECOND_S = 1.0
_SECOND_NS = 1_000_000_000
# A tenth of a second's orders may come at once; all of them at once would be a wall for the partitions.
_BURSTS = 10


class Recent:
    """The times of the last second's orders, by a clock that never goes back; kept whole, for sums of floats drift."""

    __slots__ = ("_times",)

    def __init__(self) -> None:
        """Begin with a second in which nothing was taken."""
        self._times: deque[int] = deque()

    def __len__(self) -> int:
        return len(self._times)

    def take(self, now_s: float, most: int) -> float:
        """Take one order if `most` a second allow it: 0 when taken, else the seconds until one is free.

        Of any second at most `most` are taken, of any tenth of a second at most a tenth of them, rounded up. When
        none is allowed at all, the answer is infinity.
        """
        if most == 0:
            return math.inf
        now = round(now_s * _SECOND_NS)
        times = self._times
        while times and times[0] <= now - _SECOND_NS:
            times.popleft()
        free = now
        if len(times) >= most:
            free = times[-most] + _SECOND_NS
        burst = -(-most // _BURSTS)
        if len(times) >= burst:
            free = max(free, times[-burst] + _SECOND_NS // _BURSTS)
        if free <= now:
            times.append(now)
            return 0.0
        return (free - now) / _SECOND_NS
