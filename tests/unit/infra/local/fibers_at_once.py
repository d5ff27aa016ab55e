"""Jobs as fibers of one loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from infra.local.fibers import Fibers

T = TypeVar("T")
WITHIN_S = 20
HUNDRED = 100


def run_all(fibers: Fibers, *jobs: Callable[[], T]) -> list[T]:
    """Run jobs as fibers of one loop; return what each came to."""

    async def run() -> list[T]:
        return await asyncio.wait_for(asyncio.gather(*(fibers.run(job) for job in jobs)), WITHIN_S)

    return asyncio.run(run())
