"""What the door knows of its sales: at most one call of the control store per process, sale and second."""

from __future__ import annotations

import threading
from collections import OrderedDict

from msgspec import Struct

from ingest.turn import Turn
from shared.domain.errors import NotFound, Unavailable
from shared.domain.sale import is_name
from shared.ports.control import ControlStore, SaleView
from shared.ports.system import Clock, Waiting
from shared.system import THREADS

TTL_S = 1.0
# While the store is silent a process goes on with what it knew for this long.
STALE_S = 60.0
# A view younger than this is served while another request reads; an older one is waited for, unless the store is
# known to be silent. It bounds how long after a pause a process that was idle may still take an order.
GRACE_S = 3.0
# A sale is read for requests that name something new at most this often.
RENEW_S = 0.1
MAX_SALES = 1024
MAX_MISSING = 4096
_NEVER = float("-inf")
_NO_EVENT = "There is no such event."


class _Entry(Struct):
    lock: Turn
    view: SaleView | None = None
    read_at_s: float = _NEVER
    tried_at_s: float = _NEVER
    given_away_at_s: float = _NEVER
    """When the last call about this sale was left to something else than a read."""
    call_wanted: bool = False
    """Whether something else than a read waits for its call."""
    failing: bool = False
    missing: bool = False


class SaleCache:
    """Sales with their notices, read on demand, each by one request at a time."""

    def __init__(self, store: ControlStore, clock: Clock, waiting: Waiting = THREADS) -> None:
        """Start cold; those who come for a sale that is being read wait by `waiting`."""
        self._store = store
        self._waiting = waiting
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._missing: OrderedDict[str, float] = OrderedDict()

    def get(self, event_id: str) -> SaleView:
        """Return the sale as of at most a second ago; NotFound, or Unavailable when the store was silent too long.

        What cannot be an event's id is not asked for, so nothing a sender writes reaches a key of the store.
        """
        if not is_name(event_id):
            raise NotFound(_NO_EVENT)
        entry = self._entry(event_id)
        now_s = self._clock.monotonic_s()
        if self._due(entry, now_s):
            may_serve_old = self._usable(entry, now_s) and (entry.failing or now_s - entry.read_at_s < GRACE_S)
            if entry.lock.acquire(blocking=not may_serve_old):
                try:
                    self._refresh(event_id, entry)
                finally:
                    entry.lock.release()
        if entry.missing:
            raise NotFound(_NO_EVENT)
        view = entry.view
        if view is None or not self._usable(entry, self._clock.monotonic_s()):
            raise Unavailable(retry_after_s=TTL_S)
        return view

    def renew(self, event_id: str, *, since_s: float) -> SaleView:
        """Return the sale as read at `since_s` or later, for a request that names what the cached one does not know.

        Unavailable when the store does not answer, or when so many ask that somebody else read it just before.
        """
        if not is_name(event_id):
            raise NotFound(_NO_EVENT)
        entry = self._entry(event_id)
        with entry.lock:
            now_s = self._clock.monotonic_s()
            if entry.read_at_s < min(since_s, now_s - RENEW_S) and not entry.missing:
                self._read(event_id, entry, now_s)
        if entry.missing:
            raise NotFound(_NO_EVENT)
        if entry.view is None or entry.read_at_s < since_s:
            raise Unavailable(retry_after_s=TTL_S)
        return entry.view

    def may_call(self, event_id: str) -> bool:
        """Give this second's call about a sale away for something else than a read; False when it is used already.

        Whoever gets False has the next one, unless the sale as it is known is two seconds old by then.
        """
        entry = self._entries.get(event_id)
        if entry is None or not entry.lock.acquire(blocking=False):
            return False
        try:
            now_s = self._clock.monotonic_s()
            entry.call_wanted = now_s - max(entry.tried_at_s, entry.given_away_at_s) < TTL_S
            if not entry.call_wanted:
                entry.given_away_at_s = now_s
            return not entry.call_wanted
        finally:
            entry.lock.release()

    def forget(self, event_id: str) -> None:
        """Read the sale anew when it is next asked for, because this process changed it."""
        with self._lock:
            self._missing.pop(event_id, None)
            self._entries.pop(event_id, None)

    def _entry(self, event_id: str) -> _Entry:
        with self._lock:
            missing_at_s = self._missing.get(event_id)
            if missing_at_s is not None:
                if self._clock.monotonic_s() - missing_at_s < TTL_S:
                    raise NotFound(_NO_EVENT)
                del self._missing[event_id]
            entry = self._entries.get(event_id)
            if entry is None:
                entry = self._entries[event_id] = _Entry(Turn(self._waiting))
                if len(self._entries) > MAX_SALES:
                    self._entries.popitem(last=False)
            self._entries.move_to_end(event_id)
            return entry

    def _refresh(self, event_id: str, entry: _Entry) -> None:
        now_s = self._clock.monotonic_s()
        if self._due(entry, now_s):
            self._read(event_id, entry, now_s)

    def _read(self, event_id: str, entry: _Entry, now_s: float) -> None:
        entry.tried_at_s = now_s
        entry.call_wanted = False
        try:
            entry.view = self._store.get_sale(event_id)
        except NotFound:
            entry.missing = True
            with self._lock:
                self._entries.pop(event_id, None)
                self._missing[event_id] = now_s
                if len(self._missing) > MAX_MISSING:
                    self._missing.popitem(last=False)
            return
        except Unavailable:
            entry.failing = True
            return
        entry.read_at_s = now_s
        entry.failing = False

    @staticmethod
    def _due(entry: _Entry, now_s: float) -> bool:
        """Say whether to ask the store: once a second, also while it is silent, less often when others must."""
        if entry.missing or (entry.failing and now_s - entry.tried_at_s < TTL_S):
            return False
        if now_s - entry.given_away_at_s < TTL_S:
            return False
        return now_s - entry.read_at_s >= (2 * TTL_S if entry.call_wanted else TTL_S)

    @staticmethod
    def _usable(entry: _Entry, now_s: float) -> bool:
        return entry.view is not None and now_s - entry.read_at_s < STALE_S
