"""What the stream's entries work with, opened once per process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from aws_lambda_powertools import Logger

from consumers.stream.buyer_orders import Projection
from shared.metering.emf import make_sender
from shared.metering.watch import Watch
from shared.observability import make_logger
from shared.ports.stats import StatsStore
from shared.ports.system import Clock
from shared.settings import read_settings
from shared.system import SystemClock
from shared.wiring import open_buyer_orders, open_stats


@dataclass(frozen=True, slots=True)
class Parts:
    """The statistics, the buyers' copies, the clock, the log, what is counted, and what sends it on."""

    stats: StatsStore
    copies: Projection
    clock: Clock
    logger: Logger
    watch: Watch
    send: Callable[[], None]


@cache
def open_parts() -> Parts:
    """Open them by the environment's settings."""
    settings = read_settings()
    clock = SystemClock()
    watch = Watch(clock)
    logger = make_logger("consumers", settings)
    return Parts(
        open_stats(settings, clock, watch=watch),
        Projection(open_buyer_orders(settings), logger),
        clock,
        logger,
        watch,
        make_sender(settings, watch.meter),
    )
