"""What a worker that stands alone is made of, opened by the environment's settings: in Lambda and in a container."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from aws_lambda_powertools.logging import utils

from consumers.counted import Counted, measure_lines
from consumers.tally import Tally
from consumers.tools import Tools
from shared.domain.errors import Unavailable
from shared.metering.emf import make_sender
from shared.metering.watch import Watch
from shared.observability import make_logger
from shared.settings import Settings, read_settings
from shared.system import SystemClock, SystemIds
from shared.wiring import open_gateway, open_store

_log = logging.getLogger("consumers.work")


@dataclass(frozen=True, slots=True)
class Office:
    """The sockets that steps use, the counts of what was done with them, and what sends metrics on."""

    settings: Settings
    tools: Tools
    tally: Tally
    watch: Watch
    send: Callable[[], None]

    def report(self) -> None:
        """Log what was done since the last report, a line for each event that has something, and send the metrics."""
        for event_id, counts in self.tally.take().items():
            _log.info("work done", extra={"event_id": event_id, "action": "work", "counts": counts})
        try:
            measure_lines(self.watch.meter, self.tools.store, self.tools.clock.now_ms())
        except Unavailable:
            _log.warning("the control table does not answer; the gauges stand still", extra={"action": "measure"})
        self.send()

    def close(self) -> None:
        """Give back what was opened."""
        self.tools.store.close()


def open_office(settings: Settings | None = None) -> Office:
    """Open it by these settings, else by the environment's.

    Invalid naming the variable that is missing, Unavailable or Broken when the store cannot be opened.
    """
    settings = settings or read_settings()
    logger = make_logger("consumers", settings)
    logging.getLogger("consumers")  # it must be there to be given the format
    utils.copy_config_to_registered_loggers(logger, include={"consumers"})
    clock, ids, tally = SystemClock(), SystemIds(), Tally()
    watch = Watch(clock)
    counted = Counted(watch.meter)

    def observe(event_id: str, what: str, count: int) -> None:
        tally.add(event_id, what, count)
        counted.add(event_id, what, count)

    gateway = open_gateway(settings, clock, watch=watch)
    tools = Tools(open_store(settings, clock, ids, watch=watch), gateway, clock, ids, observe=observe)
    return Office(settings, tools, tally, watch, make_sender(settings, watch.meter))
