"""Virtual time and strict turns: actors are greenlets, and change places only where they wait.

Every store and payment call waits before it is carried out and again before its answer arrives, so any two actors
interleave at every call; an actor may be killed at either place. Nothing runs in parallel: the seed decides all.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from greenlet import GreenletExit, getcurrent, greenlet


class Crashed(BaseException):
    """The process died here, as by SIGKILL: no handler of the code under test may catch it."""


@dataclass(slots=True)
class Actor:
    """One simulated process or person; `crash_rate` is the chance to die at each wait."""

    name: str
    body: Callable[[], None]
    crash_rate: float = 0.0
    on_crash: Callable[[], None] | None = None
    thread: greenlet | None = None


@dataclass(slots=True)
class Scheduler:
    """The one who decides who goes on, and when."""

    rng: random.Random
    now_ms: int = 1_000_000
    turns: int = 0
    healed: bool = False
    note: Callable[[str], None] = lambda _: None
    _queue: list[tuple[int, float, int, Actor]] = field(default_factory=list)
    _count: int = 0
    _by_thread: dict[greenlet, Actor] = field(default_factory=dict)
    _main: greenlet = field(default_factory=getcurrent)

    def start(self, actor: Actor, *, after_ms: int = 0) -> None:
        """Let an actor begin its life."""
        actor.thread = greenlet(actor.body, self._main)
        self._by_thread[actor.thread] = actor
        self._push(actor, after_ms)

    def wait(self, after_ms: int) -> None:
        """Let others go on for a while; Crashed when this actor's time has come."""
        current = getcurrent()
        if current is self._main:
            return
        self._push(self._by_thread[current], after_ms)
        self._main.switch()

    def run(self, until_ms: int, *, each_turn: Callable[[], None]) -> None:
        """Give turns until virtual time `until_ms`, or until nobody wants one."""
        while self._queue and self._queue[0][0] <= until_ms:
            at_ms, _, _, actor = heapq.heappop(self._queue)
            self.now_ms = max(self.now_ms, at_ms)
            self.turns += 1
            self._turn(actor)
            each_turn()
        self.now_ms = max(self.now_ms, until_ms)

    def end(self) -> None:
        """Let every actor that still waits vanish."""
        for actor in [entry[3] for entry in self._queue]:
            if actor.thread is not None and not actor.thread.dead:
                actor.thread.throw(GreenletExit)
        self._queue.clear()

    def _turn(self, actor: Actor) -> None:
        thread = actor.thread
        if thread is None:
            return
        dies = bool(thread) and not self.healed and self.rng.random() < actor.crash_rate
        try:
            if dies:
                self.note(f"{actor.name} dies")
                thread.throw(Crashed)
            else:
                thread.switch()
        except Crashed:
            actor.thread = None
            if actor.on_crash is not None:
                actor.on_crash()
        if thread.dead:
            self._by_thread.pop(thread, None)

    def _push(self, actor: Actor, after_ms: int) -> None:
        self._count += 1
        heapq.heappush(self._queue, (self.now_ms + after_ms, self.rng.random(), self._count, actor))


@dataclass(slots=True)
class ActorClock:
    """One process's view of virtual time: its wall clock is off by `skew_ms`, its monotonic one is right."""

    scheduler: Scheduler
    skew_ms: int = 0

    def now_ms(self) -> int:
        """Return this process's wall time."""
        return self.scheduler.now_ms + self.skew_ms

    def monotonic_s(self) -> float:
        """Return virtual seconds."""
        return self.scheduler.now_ms / 1000

    def sleep_s(self, seconds: float) -> None:
        """Let others go on meanwhile."""
        self.scheduler.wait(max(1, round(seconds * 1000)))
