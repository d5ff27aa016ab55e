"""The measured bare write: orders made beforehand, stored by as many threads as the door has, and nothing else."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import count

from infra.bench.bench_sale import bench_order
from infra.bench.child import say, usage
from infra.local.server import DEFAULT_THREADS
from shared.domain.order import Order
from shared.ports.store import Store
from shared.settings import read_settings
from shared.system import SystemClock
from shared.wiring import open_bare_store

ROUND = 2_000


def main() -> None:
    """For every line, a number of seconds, write so long; say how many orders, and the CPU time of the writing."""
    store = open_bare_store(read_settings(), SystemClock())
    numbers = count()
    with ThreadPoolExecutor(DEFAULT_THREADS) as pool:
        say({"ready": True})
        for line in sys.stdin:
            say(_write(store, pool, numbers, float(line)))
    store.close()


def _write(store: Store, pool: ThreadPoolExecutor, numbers: count[int], seconds: float) -> dict[str, float]:
    written, cpu_s, busy_s = 0, 0.0, 0.0
    while busy_s < seconds:
        now_ms = time.time_ns() // 1_000_000
        orders = [bench_order(next(numbers), now_ms) for _ in range(ROUND)]
        shares = [orders[at::DEFAULT_THREADS] for at in range(DEFAULT_THREADS)]
        began_s, began_cpu_s = time.perf_counter(), usage()["cpu_s"]
        for done in pool.map(lambda share: _store_all(store, share), shares):
            written += done
        cpu_s += usage()["cpu_s"] - began_cpu_s
        busy_s += time.perf_counter() - began_s
    return {"written": written, "cpu_s": cpu_s, "seconds": busy_s}


def _store_all(store: Store, orders: list[Order]) -> int:
    return sum(store.accept(order).created for order in orders)


if __name__ == "__main__":
    main()
