"""What the stream's entries work with, opened once per process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from aws_lambda_powertools import Logger

from shared.observability import make_logger
from shared.ports import Clock, StatsStore
from shared.settings import read_settings
from shared.system import SystemClock
from shared.wiring import open_stats


@dataclass(frozen=True, slots=True)
class Parts:
    """The statistics, the clock and the log."""

    stats: StatsStore
    clock: Clock
    logger: Logger


@cache
def open_parts() -> Parts:
    """Open them by the environment's settings."""
    settings = read_settings()
    clock = SystemClock()
    return Parts(open_stats(settings, clock), clock, make_logger("consumers", settings))
