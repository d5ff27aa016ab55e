"""When a call to a back end is repeated, how long it waits, and when it gives up.

Every attempt is ours and is told to an observer. Waits are jittered over their whole length, since callers that
failed together must not come back together ("Exponential Backoff And Jitter", AWS Architecture Blog). Retries come
out of a budget per place, refilled by success and by time: a shard in trouble uses up its own and no other's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from msgspec import Struct, field

from shared.domain.errors import AnswerLost, Contended, OnsaleError, Throttled, Unavailable

if TYPE_CHECKING:
    from tenacity import RetryCallState, Retrying

    from shared.ports.system import Clock, Ids

T = TypeVar("T")

# Attempts of one call that may end for one reason, by the error's code. A conflict passes in milliseconds; what does
# not answer at all is not helped by more calls.
_TRIES: Mapping[str, int] = MappingProxyType(
    {Throttled.code: 6, Contended.code: 10, AnswerLost.code: 5, Unavailable.code: 4}
)
# Places with an unfilled budget that are remembered; more than a sale has shards and slices.
MAX_BUDGETS = 10_000


class RetryPolicy(Struct, frozen=True):
    """How patient a caller is.

    The wait before the n-th retry is uniform between 0 and `base_s · 2^(n-1)`, at most `cap_s`; a call ends within
    `deadline_s` of its beginning, the last attempt's own time not counted. A place has `budget` retries at once,
    refilled by `refill_per_s` and by `refill_per_success`.
    """

    base_s: float = 0.02
    cap_s: float = 1.0
    deadline_s: float = 8.0
    tries: Mapping[str, int] = field(default_factory=lambda: _TRIES)
    budget: float = 20.0
    refill_per_s: float = 2.0
    refill_per_success: float = 0.2


class Attempt(Struct, frozen=True):
    """One attempt of one call: which method at which place, the how-manieth, and how it ended.

    `outcome` is `ok` or the error's code; `reason` and `resource` are a throttle's own words, else empty.
    """

    method: str
    place: str
    number: int
    outcome: str
    reason: str = ""
    resource: str = ""


class Finished(Struct, frozen=True):
    """A call with all its attempts: how long the first one took, and how long everything after it, pauses included.

    `outcome` is that of the last attempt.
    """

    method: str
    attempts: int
    first_s: float
    retrying_s: float
    outcome: str


Observer = Callable[[Attempt], None]


class Budgets:
    """A token bucket of retries for every place that is not at its full budget."""

    def __init__(self, policy: RetryPolicy, clock: Clock) -> None:
        """Begin with every budget full."""
        self._policy = policy
        self._clock = clock
        self._lock = threading.Lock()
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, place: str) -> bool:
        """Take one retry; False when there is none."""
        with self._lock:
            now_s = self._clock.monotonic_s()
            left = self._now(place, now_s)
            if left < 1:
                return False
            if len(self._left) >= MAX_BUDGETS:
                # The longest remembered has had the most time to fill up again.
                self._left.pop(next(iter(self._left)))
            self._left[place] = (left - 1, now_s)
            return True

    def succeeded(self, place: str) -> None:
        """Refill a little."""
        if place not in self._left:
            return
        with self._lock:
            now_s = self._clock.monotonic_s()
            left = self._now(place, now_s) + self._policy.refill_per_success
            if left >= self._policy.budget:
                self._left.pop(place, None)
            else:
                self._left[place] = (left, now_s)

    def _now(self, place: str, now_s: float) -> float:
        left, at_s = self._left.get(place, (self._policy.budget, now_s))
        return min(self._policy.budget, left + (now_s - at_s) * self._policy.refill_per_s)


class Retrier:
    """Carries out calls with retries; one for all threads of a process, so that budgets are the process's."""

    def __init__(
        self,
        clock: Clock,
        ids: Ids,
        sleep: Callable[[float], None],
        *,
        policy: RetryPolicy | None = None,
        observe: Observer | None = None,
        finished: Callable[[Finished], None] | None = None,
    ) -> None:
        """Wait by `sleep` (seconds), with jitter from `ids`; tell attempts to `observe` and calls to `finished`."""
        self._policy = policy or RetryPolicy()
        self._clock = clock
        self._ids = ids
        self._observe = observe
        self._finished = finished
        self._budgets = Budgets(self._policy, clock)
        self._sleep = sleep

    def call(self, method: str, place: str, run: Callable[[], T]) -> T:
        """Carry out `run`, which is repeated unchanged after Unavailable; the last error goes up."""
        call = _Call(method, place, run, self._clock, self._observe)
        try:
            answer = self._carry_out(call)
        finally:
            if self._finished is not None:
                self._finished(call.finished())
        self._budgets.succeeded(place)
        return answer

    def _carry_out(self, call: _Call[T]) -> T:
        """Make the first attempt by itself, for nearly every call ends with it; only a failed one enters tenacity."""
        try:
            return call()
        except Unavailable as error:
            call.known = error
        return self._retrying(call)

    @cached_property
    def _retrying(self) -> Retrying:
        # Loaded when a call first fails: a start in good times does without.
        from tenacity import Retrying, retry_if_exception_type  # noqa: PLC0415

        return Retrying(
            sleep=self._sleep,
            retry=retry_if_exception_type(Unavailable),
            wait=self._wait_s,
            stop=self._gives_up,
            reraise=True,
        )

    def _wait_s(self, state: RetryCallState) -> float:
        call = _call_of(state)
        longest = min(self._policy.cap_s, self._policy.base_s * 2.0 ** (state.attempt_number - 1))
        asked = call.last.retry_after_s if call.last is not None else None
        return max(self._ids.fraction() * longest, asked or 0.0)

    def _gives_up(self, state: RetryCallState) -> bool:
        call = _call_of(state)
        code = call.last.code if call.last is not None else Unavailable.code
        if call.failures.get(code, 0) >= self._policy.tries.get(code, 1):
            return True
        ends_s = call.began_s + self._policy.deadline_s
        if self._clock.monotonic_s() + state.upcoming_sleep > ends_s:
            return True
        return not self._budgets.take(call.place)


class _Call(Generic[T]):
    """One call with what has become of its attempts."""

    def __init__(self, method: str, place: str, run: Callable[[], T], clock: Clock, observe: Observer | None) -> None:
        self.method = method
        self.place = place
        self.began_s = clock.monotonic_s()
        self.failures: dict[str, int] = {}
        self.last: Unavailable | None = None
        self.known: Unavailable | None = None
        self._run = run
        self._clock = clock
        self._observe = observe
        self._number = 0
        self._first_s = 0.0
        self._outcome = ""

    def __call__(self) -> T:
        """Make the next attempt; a `known` failure is raised once in its place."""
        known, self.known = self.known, None
        if known is not None:
            raise known
        self._number += 1
        try:
            answer = self._run()
        except OnsaleError as error:
            if isinstance(error, Unavailable):
                self.failures[error.code] = self.failures.get(error.code, 0) + 1
                self.last = error
            if isinstance(error, Throttled):
                self._tell(error.code, error.reason, error.resource)
            else:
                self._tell(error.code)
            raise
        self._tell("ok")
        return answer

    def finished(self) -> Finished:
        """Sum the call up, once it has ended."""
        took_s = self._clock.monotonic_s() - self.began_s
        return Finished(self.method, self._number, self._first_s, max(0.0, took_s - self._first_s), self._outcome)

    def _tell(self, outcome: str, reason: str = "", resource: str = "") -> None:
        self._outcome = outcome
        if self._number == 1:
            self._first_s = self._clock.monotonic_s() - self.began_s
        if self._observe is not None:
            self._observe(Attempt(self.method, self.place, self._number, outcome, reason, resource))


def _call_of(state: RetryCallState) -> _Call[object]:
    return cast("_Call[object]", state.fn)
