"""Frames, made at most once a second for each event, however many consoles are open."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from ingest.console.compose import Cards
    from ingest.console.look import Memory
    from ingest.console.shapes import Frame
    from ingest.parts import Parts
    from shared.ports.control import SaleView

FRAME_S = 1.0
# A frame younger than this is shown while the next one is made.
GRACE_S = 5.0
MAX_EVENTS = 64
_NEVER = float("-inf")


class _Desk(Struct):
    lock: threading.Lock = field(default_factory=threading.Lock)
    memory: Memory | None = None
    cards: Cards = field(default_factory=dict)
    frame: Frame | None = None
    made_at_s: float = _NEVER


class FrameBoard:
    """One process's frames, by event."""

    def __init__(self) -> None:
        """Begin with none."""
        self._lock = threading.Lock()
        self._desks: OrderedDict[str, _Desk] = OrderedDict()

    def frame(self, parts: Parts, event_id: str) -> Frame:
        """Return the frame of an event; NotFound or Unavailable as the cache of sales says."""
        view = parts.sales.get(event_id)
        desk = self._desk(event_id)
        now_s = parts.clock.monotonic_s()
        if desk.frame is not None and now_s - desk.made_at_s < FRAME_S:
            return desk.frame
        may_show_old = desk.frame is not None and now_s - desk.made_at_s < GRACE_S
        if desk.lock.acquire(blocking=not may_show_old):
            try:
                if desk.frame is None or parts.clock.monotonic_s() - desk.made_at_s >= FRAME_S:
                    desk.frame = _compose(parts, view, desk, now_s)
                    desk.made_at_s = now_s
            finally:
                desk.lock.release()
        assert desk.frame is not None  # noqa: S101 - for the type checker: made above, and never taken away
        return desk.frame

    def _desk(self, event_id: str) -> _Desk:
        with self._lock:
            desk = self._desks.setdefault(event_id, _Desk())
            self._desks.move_to_end(event_id)
            if len(self._desks) > MAX_EVENTS:
                self._desks.popitem(last=False)
            return desk


def _compose(parts: Parts, view: SaleView, desk: _Desk, now_s: float) -> Frame:
    # Every process of the door has a board, and few ever show a frame: the cards are loaded with the first one.
    from ingest.console.compose import compose  # noqa: PLC0415
    from ingest.console.look import Look, Memory  # noqa: PLC0415

    desk.memory = desk.memory or Memory()
    return compose(Look(parts, view, desk.memory), desk.cards, now_s)
