"""The measured bare write: orders made beforehand, stored by as many threads as the door has, and nothing else.

With `--fibers` they are stored as the door stores them, by as many fibers as it has and on one thread.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import uvloop

from infra.bench.bench_sale import bench_order
from infra.bench.child import say, usage
from infra.local.gateway import MAX_FIBERS
from infra.local.rush import Rush
from infra.local.server import DEFAULT_THREADS
from shared.domain.order import Order
from shared.metering.watch import Watch
from shared.ports.store import Store
from shared.settings import read_settings
from shared.system import SystemClock
from shared.wiring import open_bare_store

ROUND = 2_000
# Where the numbers of the fibers' orders begin: on DynamoDB both write into the same table.
APART = 10**9

# Stores every share at the same time as the others; returns how many orders were new.
StoreShares = Callable[[list[list[Order]]], Awaitable[int]]


def main() -> None:
    """For every line, a number of seconds, write so long; say how many orders, and the CPU time of the writing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fibers", action="store_true")
    options = parser.parse_args()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        (_by_fibers if options.fibers else _by_threads)(runner)


def _by_threads(runner: asyncio.Runner) -> None:
    store = open_bare_store(read_settings(), SystemClock())
    with ThreadPoolExecutor(DEFAULT_THREADS) as pool:

        async def store_shares(shares: list[list[Order]]) -> int:
            return sum(pool.map(lambda share: _store_all(store, share), shares))

        _obey(runner, store_shares, DEFAULT_THREADS, count())
    store.close()


def _by_fibers(runner: asyncio.Runner) -> None:
    settings, clock = read_settings(), SystemClock()
    rush = Rush(settings)
    fibers, host = rush.fibers, rush.host(DEFAULT_THREADS, Watch(clock))
    assert fibers is not None  # noqa: S101 - every store of the benchmark is for fibers
    store = open_bare_store(settings, clock, waiting=host.waiting, exchange=host.exchange)

    async def store_shares(shares: list[list[Order]]) -> int:
        return sum(await asyncio.gather(*(fibers.run(_store_all, store, share) for share in shares)))

    _obey(runner, store_shares, MAX_FIBERS, count(APART))
    runner.run(rush.end())
    fibers.close()
    store.close()


def _obey(runner: asyncio.Runner, store_shares: StoreShares, at_once: int, numbers: count[int]) -> None:
    say({"ready": True})
    for line in sys.stdin:
        say(runner.run(_write(store_shares, at_once, numbers, float(line))))


async def _write(store_shares: StoreShares, at_once: int, numbers: count[int], seconds: float) -> dict[str, float]:
    written, cpu_s, busy_s = 0, 0.0, 0.0
    while busy_s < seconds:
        now_ms = time.time_ns() // 1_000_000
        orders = [bench_order(next(numbers), now_ms) for _ in range(ROUND)]
        shares = [orders[at::at_once] for at in range(at_once)]
        began_s, began_cpu_s = time.perf_counter(), usage()["cpu_s"]
        written += await store_shares(shares)
        cpu_s += usage()["cpu_s"] - began_cpu_s
        busy_s += time.perf_counter() - began_s
    return {"written": written, "cpu_s": cpu_s, "seconds": busy_s}


def _store_all(store: Store, orders: list[Order]) -> int:
    return sum(store.accept(order).created for order in orders)


if __name__ == "__main__":
    main()
