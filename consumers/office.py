"""What a worker that stands alone is made of, opened by the environment's settings: in Lambda and in a container."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from aws_lambda_powertools.logging import utils

from consumers.tally import Tally
from consumers.tools import Tools
from shared.observability import make_logger
from shared.settings import Settings, read_settings
from shared.system import SystemClock, SystemIds
from shared.wiring import open_gateway, open_store

_log = logging.getLogger("consumers.work")


@dataclass(frozen=True, slots=True)
class Office:
    """The sockets that steps use, and the counts of what was done with them."""

    settings: Settings
    tools: Tools
    tally: Tally

    def report(self) -> None:
        """Log what was done since the last report, a line for each event; nothing when nothing was."""
        for event_id, counts in self.tally.take().items():
            _log.info("work done", extra={"event_id": event_id, "action": "work", "counts": counts})

    def close(self) -> None:
        """Give back what was opened."""
        self.tools.store.close()


def open_office() -> Office:
    """Open it; Invalid naming the variable that is missing, Unavailable or Broken when the store cannot be opened."""
    settings = read_settings()
    logger = make_logger("consumers", settings)
    logging.getLogger("consumers")  # it must be there to be given the format
    utils.copy_config_to_registered_loggers(logger, include={"consumers"})
    clock, ids, tally = SystemClock(), SystemIds(), Tally()
    gateway = open_gateway(settings, clock)
    return Office(settings, Tools(open_store(settings, clock, ids), gateway, clock, ids, observe=tally.add), tally)
