"""Whether a hot partition is split, and where."""

from __future__ import annotations

from collections import deque

from infra.model.limits import Assumptions
from infra.model.position import Position

_US = 1_000_000


class HeatGauge:
    """How long one partition has been near its ceiling, and which keys made it so.

    Source: AWS Database Blog, "Scaling DynamoDB: How partitions, hot keys, and split for heat impact
    performance", parts 2 and 3. AWS publishes neither threshold nor delay: see `Assumptions`.
    """

    __slots__ = ("_assumed", "_hot_since_us", "_load", "_samples", "_seen", "_window_us")

    def __init__(self, assumed: Assumptions, at_us: int) -> None:
        self._assumed = assumed
        self._samples: deque[Position] = deque(maxlen=assumed.heat_samples)
        self._seen = 0
        self._load = 0.0
        self._window_us = at_us
        self._hot_since_us: int | None = None

    def note(self, position: Position, share: float, now_us: int) -> bool:
        """Count a passed cost as `share` of a second at the ceiling; true once a split is due."""
        due = self._close_window(now_us)
        self._load += share
        self._remember(position)
        return due

    def note_refused(self, position: Position) -> None:
        """Remember a key that was turned away: the service sees it too."""
        self._remember(position)

    def _remember(self, position: Position) -> None:
        self._seen += 1
        if self._seen % self._assumed.heat_sample_every == 0:
            self._samples.append(position)

    def _close_window(self, now_us: int) -> bool:
        length_us = round(self._assumed.heat_window_s * _US)
        if now_us - self._window_us < length_us:
            return False
        hot = self._load >= self._assumed.heat_threshold * self._assumed.heat_window_s
        if not hot or now_us - self._window_us >= 2 * length_us:
            self._hot_since_us = None
        elif self._hot_since_us is None:
            self._hot_since_us = self._window_us
        self._window_us, self._load = now_us, 0.0
        since_us = self._hot_since_us
        return since_us is not None and now_us - since_us >= self._assumed.heat_sustained_s * _US

    def start_again(self) -> None:
        """After a split, or a refused one: heat has to last anew."""
        self._hot_since_us = None

    def cut(self, *, inside_collections: bool) -> Position | None:
        """The position at which a split would help, or none.

        One item cannot be cut; an item collection cannot be cut with a local secondary index ("Best
        practices for designing and using partition keys effectively"); and where the newest load lies
        nearly all on one side of the middle, as with keys that only rise, a split gains nothing.
        """
        recent = [p if inside_collections else (p[0], b"") for p in self._samples]
        if len(recent) < self._assumed.heat_samples // 2:
            return None
        ordered = sorted(recent)
        boundary = _balanced_boundary(ordered)
        if boundary is None:
            return None
        newest = recent[-(len(recent) // 4) :]
        above = sum(position >= boundary for position in newest) / len(newest)
        limit = self._assumed.heat_lopsided_share
        return boundary if 1 - limit < above < limit else None


def _balanced_boundary(ordered: list[Position]) -> Position | None:
    """The distinct value nearest the median that has something below it."""
    middle = len(ordered) // 2
    at = ordered[middle]
    below = next((i for i in range(middle, -1, -1) if ordered[i] < at), None)
    above = next((i for i in range(middle, len(ordered)) if ordered[i] > at), None)
    # Cutting at `at` puts the run of equal keys into the upper half; cutting above it, into the lower.
    options = [i for i in (None if below is None else below + 1, above) if i is not None]
    return ordered[min(options, key=lambda i: abs(i - middle))] if options else None
