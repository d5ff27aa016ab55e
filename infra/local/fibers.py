"""Synchronous code on the event loop's own thread: where it would stand still, the loop goes on with others.

To hand a request to another thread and its answer back costs more than the answer (infra/decisions/0015-fibers.md).
What waits by `Fibers` gives the loop its thread back instead, and is resumed there. Whatever else blocks, blocks all:
only code that is known to wait by nothing else may run here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from greenlet import GreenletExit, getcurrent, greenlet

from shared.ports.system import Gate
from shared.system import ThreadGate, sleep_s

T = TypeVar("T")

# A job beside the loop is put off while new fibers begin in every turn of the loop, so that it may serve them too; but
# no longer than this.
PUT_OFF_S = 0.005


class _Call:
    """One job, and what came of it."""

    __slots__ = ("_arguments", "_job", "answer", "done", "error", "waiter")

    def __init__(self, job: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self._job = job
        self._arguments = arguments
        self.answer: Any = None
        self.error: BaseException | None = None
        self.done = False
        # Of whoever waits, once the job has not ended at once.
        self.waiter: asyncio.Future[None] | None = None

    def carry_out(self) -> None:
        try:
            self.answer = self._job(*self._arguments)
        except GreenletExit:
            # Its loop is gone, and with it whoever waited.
            raise
        except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to who waits for the job
            self.error = error
        self.done = True
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)


class _Fiber(greenlet):
    """Carries out one job after another on the thread of the loop where it was made.

    The memory that a new one needs for its calls takes as long as a quarter of an order: it is used again.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, idle: list[_Fiber]) -> None:
        super().__init__(self._work)
        self.loop = loop
        self._main = getcurrent()
        self._idle = idle
        self._call: _Call | None = None

    def begin(self, call: _Call) -> None:
        """Carry out a job, until it ends or waits for the first time."""
        self._call = call
        self.switch()

    def stand_aside(self) -> None:
        """Give the loop its thread back until somebody switches here again."""
        self._main.switch()

    def _work(self) -> None:
        while self._call is not None:
            self._call.carry_out()
            self._call = None
            self._idle.append(self)
            self.stand_aside()


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
        self._idle: list[_Fiber] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begun = 0
        self._put_off: deque[Callable[[], object]] = deque()

    async def run(self, job: Callable[..., T], *arguments: Any) -> T:  # noqa: ANN401 - as the job takes them
        """Return what a job returns. When the caller is cancelled the job goes on to its end all the same."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            # Whoever counted on the turns of another loop would wait for good.
            self.hurry()
        self._begun += 1
        call = _Call(job, arguments)
        self._fiber(loop).begin(call)
        if not call.done:
            call.waiter = loop.create_future()
            await call.waiter
        if call.error is not None:
            raise call.error
        answer: T = call.answer
        return answer

    def may_block(self) -> bool:
        """Say whether the caller is a thread and no fiber."""
        return not isinstance(getcurrent(), _Fiber)

    def gate(self) -> Gate:
        """Return a closed gate for the present fiber or thread."""
        fiber = getcurrent()
        return _FiberGate(fiber) if isinstance(fiber, _Fiber) else ThreadGate()

    def start(self, job: Callable[[], object]) -> None:
        """Carry a job out on the one thread beside the loop, after what that one is at, in a quiet turn of the loop."""
        self._put_off.append(job)
        loop = self._loop
        if loop is None or loop.is_closed():
            self.hurry()
            return
        with contextlib.suppress(RuntimeError):
            # Should the loop end here and now, the next thread to come, or the next loop, will hurry.
            loop.call_soon_threadsafe(self._settle, loop, self._begun - 1, loop.time() + PUT_OFF_S)

    def hurry(self) -> None:
        """Put nothing off any longer."""
        with contextlib.suppress(IndexError):
            while True:
                self._beside.submit(self._put_off.popleft())

    def sleep(self, seconds: float) -> None:
        """Let a fiber or a thread wait."""
        fiber = getcurrent()
        if not isinstance(fiber, _Fiber):
            sleep_s(seconds)
            return
        gate = _FiberGate(fiber)
        fiber.loop.call_later(seconds, gate.open)
        gate.wait()

    def outcome(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Let a fiber wait for what a coroutine returns or raises."""
        fiber = getcurrent()
        if not isinstance(fiber, _Fiber):
            raise TypeError("only a fiber has a loop to wait by")
        task = fiber.loop.create_task(coroutine)
        task.add_done_callback(lambda _: fiber.switch())
        fiber.stand_aside()
        return task.result()

    def close(self) -> None:
        """Return when the thread beside the loop has ended, after what it is at."""
        self.hurry()
        self._beside.shutdown()
        self._idle.clear()

    def _settle(self, loop: asyncio.AbstractEventLoop, seen: int, until_s: float) -> None:
        if self._begun == seen or loop.time() >= until_s:
            self.hurry()
        else:
            loop.call_soon(self._settle, loop, self._begun, until_s)

    def _fiber(self, loop: asyncio.AbstractEventLoop) -> _Fiber:
        while self._idle:
            fiber = self._idle.pop()
            # One of a loop that has ended belongs to another thread, it may be.
            if fiber.loop is loop:
                return fiber
        return _Fiber(loop, self._idle)
