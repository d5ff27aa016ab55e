"""Loading without the garbage collector.

While a program loads, nearly all that is made stays; the collector looks through it again and again, and finds nothing.
On a cold start that takes about a tenth of the time (`onsale bench import`).
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Collect nothing meanwhile, and leave what is there by then out of all later collections."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()


def look_rarely() -> None:
    """Look through what is new after ten thousand new objects, not after seven hundred.

    For a server that has many requests under way at once: what they hold is no garbage, however often it is looked at.
    """
    gc.set_threshold(10_000, 20, 50)
