"""How many orders a process takes per second: its static share, and above it what it has leased; else a refusal.

What holds, for every true second (t - 1 s, t] and whatever the processes' clocks say: all orders that all processes
together admit to one sale in it are at most the sale's `accept_per_s`, while at most the expected number of processes
run at a time and each begins to admit a second after it was started (ingest.process sees to that). Processes may die
and be replaced at any moment.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Callable

from msgspec import Struct, field

from ingest.budget import Split, split_budget
from ingest.errors import OverBudget
from ingest.leases import Leases, Wish
from ingest.recent import SECOND_S, Recent
from shared.domain.errors import Unavailable
from shared.domain.sale import Sale
from shared.ports.control import ControlStore
from shared.ports.system import Clock, Ids

# Nobody is sent away for longer, however many were refused before.
MAX_WAIT_S = 30.0
MAX_SALES = 1024


class _State(Struct):
    """One sale as this process sells it."""

    at_s: float
    lock: threading.Lock = field(default_factory=threading.Lock)
    recent: Recent = field(default_factory=Recent)
    leases: Leases = field(default_factory=Leases)
    wish: Wish | None = None
    look_again_at_s: float = -math.inf
    drawing: bool = False
    expected: float = 0.0
    """Refused requests whose turn, at the pace of the budget, has not come yet."""


class Admission:
    """Takes or refuses, sale by sale. The refused are told times that lie apart as the budget returns."""

    def __init__(
        self, clock: Clock, ids: Ids, control: ControlStore, may_call: Callable[[str], bool], *, processes: int
    ) -> None:
        """Share every budget with `processes` ingest processes in all.

        `may_call` gives a sale's one call of the control store per second away, to whoever asks first.
        """
        self._clock = clock
        self._ids = ids
        self._control = control
        self._may_call = may_call
        self._processes = processes
        self._lock = threading.Lock()
        self._states: OrderedDict[str, _State] = OrderedDict()

    def admit(self, sale: Sale) -> None:
        """Take one order from the budget; OverBudget with the time to wait when nothing is left."""
        split = split_budget(sale.accept_per_s, self._processes)
        state = self._state(sale.event_id)
        wait_s = self._take(state, split)
        if split.grants and self._draw(sale.event_id, state, split, short=wait_s > 0) and wait_s > 0:
            wait_s = self._take(state, split)
        if wait_s > 0:
            raise self._refusal(state, wait_s, sale.accept_per_s / self._processes)

    def _take(self, state: _State, split: Split) -> float:
        with state.lock:
            now_s = self._clock.monotonic_s()
            return state.recent.take(now_s, split.share + state.leases.allowed(split.grants, now_s))

    def _draw(self, event_id: str, state: _State, split: Split, *, short: bool) -> bool:
        """Try for a lease where one is needed and may be asked for now; True when one was had."""
        with state.lock:
            now_s = self._clock.monotonic_s()
            if state.drawing:
                return False
            if state.wish is None:
                state.wish = self._wish(state, split, now_s, short=short)
            wish = state.wish
            if wish is None or not self._may_call(event_id):
                return False
            state.wish = None
            state.drawing = True
        try:
            answer = self._control.take_grant(event_id, wish.grant_no, seen=wish.seen, op=self._ids.op_id())
        except Unavailable:
            # Whether it was taken is not known; it is not used. The static share goes on.
            return False
        finally:
            state.drawing = False
        with state.lock:
            state.leases.settle(wish.grant_no, answer, sent_s=now_s, now_s=self._clock.monotonic_s())
        return answer.taken

    def _wish(self, state: _State, split: Split, now_s: float, *, short: bool) -> Wish | None:
        if not short:
            spare = split.share + state.leases.allowed(split.grants, now_s) - len(state.recent)
            return state.leases.renewal(split.grants, now_s, spare=spare)
        if now_s < state.look_again_at_s:
            return None
        state.look_again_at_s = now_s + SECOND_S
        return state.leases.wish(split.grants, now_s, luck=self._ids.fraction())

    def _refusal(self, state: _State, wait_s: float, pace_per_s: float) -> OverBudget:
        with state.lock:
            now_s = self._clock.monotonic_s()
            state.expected = max(0.0, state.expected - (now_s - state.at_s) * pace_per_s)
            state.at_s = now_s
            next_s = 1 / pace_per_s if math.isinf(wait_s) else wait_s
            told_s = max(next_s, min(next_s + state.expected / pace_per_s, MAX_WAIT_S))
            state.expected = min(state.expected + 1, MAX_WAIT_S * pace_per_s)
        # Later than the budget returns, never earlier, and not all at the same moment.
        return OverBudget(retry_after_s=told_s * (1 + 0.25 * self._ids.fraction()) + self._ids.fraction())

    def _state(self, event_id: str) -> _State:
        with self._lock:
            state = self._states.get(event_id)
            if state is None:
                state = self._states[event_id] = _State(self._clock.monotonic_s())
                if len(self._states) > MAX_SALES:
                    self._states.popitem(last=False)
            self._states.move_to_end(event_id)
            return state
