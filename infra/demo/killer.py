"""Kills workers without warning, again and again, as a bad night would."""

from __future__ import annotations

import time
from random import Random

from infra.local.system import System

FIRST_AFTER_S = 0.8
EVERY_S = (2.0, 4.0)
# A bad night ends: a sale whose workers never live long enough to finish a payment would not end either.
MAX_KILLS = 12


class Killer:
    """SIGKILLs one worker at a time; the supervisor starts it again."""

    def __init__(self, system: System, seed: int) -> None:
        self._system = system
        self._dice = Random(f"killer:{seed}")
        self._next_s = time.monotonic() + FIRST_AFTER_S
        self.kills = 0

    def strike_if_due(self) -> None:
        """Kill a worker when the time has come."""
        now_s = time.monotonic()
        alive = [worker for worker in self._system.workers if worker.alive and worker.first_line]
        if now_s < self._next_s or not alive or self.kills >= MAX_KILLS:
            return
        self._dice.choice(alive).kill()
        self.kills += 1
        self._next_s = now_s + self._dice.uniform(*EVERY_S)
