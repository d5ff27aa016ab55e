"""Can this process do its work? Asked at most once a second, however often the question comes."""

from __future__ import annotations

import threading

from shared.domain.errors import NotFound, Unavailable
from shared.ports.control import ControlStore
from shared.ports.system import Clock

TTL_S = 1.0
# No sale has this id, for ids begin with a letter or digit: one read of one key that holds nothing.
_NOBODY = "-"


class Health:
    """The store's answer, remembered for a second."""

    def __init__(self, store: ControlStore, clock: Clock) -> None:
        """Know nothing yet."""
        self._store = store
        self._clock = clock
        self._lock = threading.Lock()
        self._asked_at_s = float("-inf")
        self._failure: Unavailable | None = None

    def check(self) -> None:
        """Return when the store answers; raise its Unavailable when it does not."""
        with self._lock:
            now_s = self._clock.monotonic_s()
            if now_s - self._asked_at_s >= TTL_S:
                self._failure = self._ask()
                self._asked_at_s = now_s
            failure = self._failure
        if failure is not None:
            raise Unavailable(failure.message, retry_after_s=failure.retry_after_s)

    def _ask(self) -> Unavailable | None:
        try:
            self._store.get_sale(_NOBODY)
        except NotFound:
            return None
        except Unavailable as failure:
            return failure
        return None
