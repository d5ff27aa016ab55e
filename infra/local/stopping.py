"""Being asked to stop, safely: a signal's handler may interrupt whoever holds the very lock it would need."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType


def stop_on_signals() -> threading.Event:
    """Return an event that SIGINT and SIGTERM set, however many of them come at once.

    The handler only writes to a pipe; `Event.set` takes a lock, which a second signal within the first one's handler
    would wait for without end. Call it in the main thread.
    """
    stop = threading.Event()
    reading, writing = os.pipe()

    def ask(_number: int, _frame: FrameType | None) -> None:
        os.write(writing, b"\0")

    def listen() -> None:
        os.read(reading, 1)
        stop.set()

    threading.Thread(target=listen, name="stop-on-signals", daemon=True).start()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
    return stop
