"""One process of the door: wired once, by the first event or before it; then every event is handed to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from msgspec import Struct, field
from msgspec.structs import replace

from ingest.api import RUSH_PATH, routes_for
from ingest.buyer_guard import BuyerGuard
from ingest.door import Door
from ingest.insight import Insight
from ingest.marked_buyers import MarkedBuyers
from ingest.opened import Opened
from ingest.parts import Parts, make_parts
from ingest.recent import SECOND_S
from shared.collector import paused
from shared.metering.emf import make_sender
from shared.metering.watch import Watch
from shared.observability import make_logger
from shared.payments.charges import check_chargeable
from shared.ports.system import Waiting
from shared.retry import RetryPolicy
from shared.settings import read_settings
from shared.system import THREADS, SystemClock, SystemIds, process_age_s, sleep_s
from shared.wiring import open_buyer_orders, open_notices, open_stats, open_store

if TYPE_CHECKING:
    from shared.metering.snapshot import Snapshot
    from shared.ports.exchange import Exchange

# A buyer waits for the answer: a store that does not answer soon is better told by 503 than waited for.
PATIENCE = RetryPolicy(deadline_s=2.0, cap_s=0.25)


class Host(Struct, frozen=True):
    """What a machine that runs several processes lends to this one.

    The process counts by `watch`, `others` reads what its neighbours have counted, and requests for orders wait by
    `waiting`, for a store on the network by `exchange`. What buyers press is made ready for `at_once` requests at a
    time.
    """

    watch: Watch = field(default_factory=lambda: Watch(SystemClock()))
    others: Callable[[], Sequence[Snapshot]] = tuple
    waiting: Waiting = THREADS
    exchange: Exchange | None = None
    at_once: int = 0


class _Wired:
    """The process's door, made by the first request that needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._door: Door | None = None

    def door(self, host: Host | None = None) -> Door:
        if self._door is None:
            with self._lock:
                if self._door is None:
                    host = host or Host()
                    with paused():
                        door = build_app(_real_parts(host))
                        door.prepare(RUSH_PATH, host.at_once)
                    # Of whoever ran here before, the last second's orders still count: see ingest.admission.
                    sleep_s(max(0.0, SECOND_S - process_age_s()))
                    # Not before: another thread takes what stands here without asking for the lock.
                    self._door = door
        return self._door

    def close(self) -> None:
        with self._lock:
            if self._door is not None:
                self._door.close()
                self._door = None


_WIRED = _Wired()


def handler(event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one API Gateway event (HTTP API, payload format 2.0); safe on any number of threads."""
    return _WIRED.door()(event, context)


def warm(host: Host | None = None) -> None:
    """Wire now instead of with the first request; what is wrong with the settings or the store is raised here."""
    _WIRED.door(host)


def shut() -> None:
    """Give back what was opened; the next event wires anew."""
    _WIRED.close()


def build_app(parts: Parts) -> Door:
    """Compose the API over other parts: what tests call."""
    return Door(parts, routes_for)


def _real_parts(host: Host) -> Parts:
    watch = host.watch
    settings = read_settings()
    clock, ids = SystemClock(), SystemIds()
    statistics = Opened(lambda: open_stats(settings, clock, watch=watch))
    copies = Opened(lambda: open_buyer_orders(settings))

    def close() -> None:
        statistics.close()
        copies.close()

    marked = MarkedBuyers(lambda: statistics.get().list_marks(now_ms=clock.now_ms()), clock)
    parts = make_parts(
        open_store(settings, clock, ids, policy=PATIENCE, watch=watch, waiting=host.waiting, exchange=host.exchange),
        clock,
        ids,
        processes=settings.ingest_processes,
        check_chargeable=check_chargeable,
        logger=make_logger("ingest", settings),
        waiting=host.waiting,
    )
    return replace(
        parts,
        reads_per_s=settings.reads_per_s,
        limits_scale=settings.limits_scale,
        open_notices=cache(lambda: open_notices(settings)),
        open_copies=copies.get,
        guard=BuyerGuard(clock, ids, marked),
        insight=Insight(watch, host.others, statistics.get, make_sender(settings, watch.meter), close),
    )
