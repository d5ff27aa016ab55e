"""Several processes over one SQLite file, and one that is killed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from shared.domain.order import Status
from shared.stores.sqlite import SqliteStore
from tests.contract.steps import all_orders, order_on, sale_of
from tests.fakes.system import FakeClock

PROGRAM = (sys.executable, "-m", "tests.unit.stores.sqlite_process")


def start(what: str, folder: Path, name: str) -> subprocess.Popen[str]:
    """Start one process over the store in `folder`."""
    return subprocess.Popen([*PROGRAM, what, str(folder), name], stdout=subprocess.PIPE, text=True)


def test_two_processes_never_sell_a_seat_twice(tmp_path: Path) -> None:
    """S1: both hold from one slice at the same time, and together exactly what it has."""
    sale = sale_of(60)
    store = SqliteStore(tmp_path, FakeClock())
    store.open_inventory(sale)
    for number in range(90):
        store.accept(order_on(0, f"order-{number:03d}", at_ms=number))

    workers = [start("hold", tmp_path, name) for name in ("a", "b")]
    told = [int(worker.communicate(timeout=50)[0]) for worker in workers]

    assert [worker.returncode for worker in workers] == [0, 0]
    assert sum(told) == 60
    assert sum(order.status is Status.HELD for order in all_orders(store, 0)) == 60
    pool = store.get_pool(sale, "floor")
    assert (pool.unsold, pool.taken, pool.balanced) == (0, 60, True)
    store.close()


def test_processes_that_start_at_once_share_one_store(tmp_path: Path) -> None:
    """None finds a half-made file, and the orders of all are in it."""
    writers = [start("accept", tmp_path, f"w{number}") for number in range(3)]
    told = [read_some(writer, 5) for writer in writers]
    for writer in writers:
        writer.kill()
        writer.communicate()

    store = SqliteStore(tmp_path, FakeClock())
    there = {order.key.order_id for order in all_orders(store, 0)}
    store.close()
    assert {order_id for ids in told for order_id in ids} <= there
    assert {path.name for path in tmp_path.iterdir()} == {"onsale.db", "onsale.db-turn"}


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    """I2: every order told as accepted before SIGKILL is there afterwards."""
    writer = start("accept", tmp_path, "w")
    told = read_some(writer, 200)
    writer.kill()
    rest = writer.communicate()[0].splitlines()
    # The last line may have been cut by the kill.
    acknowledged = [*told, *rest[:-1]]

    store = SqliteStore(tmp_path, FakeClock())
    there = [order.key.order_id for order in all_orders(store, 0)]
    store.close()
    assert len(acknowledged) >= 200
    assert there[: len(acknowledged)] == acknowledged


def read_some(process: subprocess.Popen[str], lines: int) -> list[str]:
    """Read the first lines that a process writes."""
    assert process.stdout is not None
    return [process.stdout.readline().strip() for _ in range(lines)]
