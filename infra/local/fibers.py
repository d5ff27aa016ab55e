"""Synchronous code on the event loop's own thread: where it would stand still, the loop goes on with others.

To hand a request to another thread and its answer back costs more than the answer (infra/decisions/0015-fibers.md).
What waits by `Fibers` gives the loop its thread back instead, and is resumed there. Whatever else blocks, blocks all:
only code that is known to wait by nothing else may run here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

from shared.ports.system import Gate
from shared.system import ThreadGate, sleep_s

T = TypeVar("T")


class _Fiber(greenlet):
    """One job with the loop on whose thread it runs."""

    def __init__(self, loop: asyncio.AbstractEventLoop, job: Callable[..., Any]) -> None:
        super().__init__(job)
        self.loop = loop
        self._main = getcurrent()

    def stand_aside(self) -> None:
        """Give the loop its thread back until somebody switches here again."""
        self._main.switch()


class _FiberGate:
    """A gate before which a fiber stands aside. All but `open` happens on the loop's thread."""

    __slots__ = ("_fiber", "_is_open", "_waits")

    def __init__(self, fiber: _Fiber) -> None:
        self._fiber = fiber
        self._is_open = False
        self._waits = False

    def wait(self) -> None:
        if not self._is_open:
            self._waits = True
            self._fiber.stand_aside()
            self._waits = False

    def open(self) -> None:
        self._is_open = True
        # A loop that has ended resumes nobody; who opens may have others to wake.
        with contextlib.suppress(RuntimeError):
            self._fiber.loop.call_soon_threadsafe(self._resume)

    def _resume(self) -> None:
        if self._waits:
            self._fiber.switch()


class Fibers:
    """Runs jobs as fibers; implements `Waiting` for them, and as threads wait for whoever is none."""

    def __init__(self) -> None:
        """Have one thread beside the loop."""
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="beside")

    async def run(self, job: Callable[..., T], *arguments: Any) -> T:  # noqa: ANN401 - as the job takes them
        """Return what a job returns. When the caller is cancelled the job goes on to its end all the same."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()
        answer: list[T] = []
        errors: list[BaseException] = []

        def body() -> None:
            try:
                answer.append(job(*arguments))
            except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to who waits for the job
                errors.append(error)
            if not ended.done():
                ended.set_result(None)

        _Fiber(loop, body).switch()
        if not ended.done():
            await ended
        if errors:
            raise errors[0]
        return answer[0]

    def may_block(self) -> bool:
        """Say whether the caller is a thread and no fiber."""
        return not isinstance(getcurrent(), _Fiber)

    def gate(self) -> Gate:
        """Return a closed gate for the present fiber or thread."""
        fiber = getcurrent()
        return _FiberGate(fiber) if isinstance(fiber, _Fiber) else ThreadGate()

    def start(self, job: Callable[[], object]) -> None:
        """Carry a job out on the one thread beside the loop, after what that one is at."""
        self._beside.submit(job)

    def sleep(self, seconds: float) -> None:
        """Let a fiber or a thread wait."""
        fiber = getcurrent()
        if not isinstance(fiber, _Fiber):
            sleep_s(seconds)
            return
        gate = _FiberGate(fiber)
        fiber.loop.call_later(seconds, gate.open)
        gate.wait()

    def close(self) -> None:
        """Return when the thread beside the loop has ended, after what it is at."""
        self._beside.shutdown()
