"""Waiting clients as a flow: mass goes in, and comes out evenly spread over a span of ticks."""

from __future__ import annotations

import numpy as np

from infra.model.scenario import Floats

_NOTHING = 1e-9


class DelayLine:
    """Mass per key that comes back uniformly between two waits, in ticks.

    Adding costs one addition to the start and one to the end of the span, however long it is.
    """

    def __init__(self, keys: int, from_ticks: float, to_ticks: float) -> None:
        self._first = max(1, round(from_ticks))
        self._width = max(1, round(to_ticks - from_ticks))
        self._deltas = np.zeros((self._first + self._width + 1, keys))
        self._flow = np.zeros(keys)
        self._tick = 0
        self._busy_until = -1

    def add(self, mass: Floats) -> None:
        """Let a mass wait from the present tick on."""
        rows = len(self._deltas)
        per_tick = mass / self._width
        self._deltas[(self._tick + self._first) % rows] += per_tick
        self._deltas[(self._tick + self._first + self._width) % rows] -= per_tick
        self._busy_until = self._tick + self._first + self._width

    def advance(self) -> Floats | None:
        """Go to the next tick and say what comes out there; none when the line is empty."""
        self._tick += 1
        if self._tick > self._busy_until:
            return None
        row = self._deltas[self._tick % len(self._deltas)]
        self._flow += row
        row[:] = 0.0
        if self._tick == self._busy_until:
            self._flow[:] = 0.0
            return None
        np.maximum(self._flow, 0.0, out=self._flow)
        return self._flow.copy() if self._flow.max() > _NOTHING else None
