"""Opening a SQLite store: what is made, what is refused, and in which words."""

from __future__ import annotations

import gc
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from shared.domain.errors import Broken, Contended, OnsaleError, Unavailable
from shared.stores.sqlite import SqliteStore
from shared.stores.sqlite.buyer_orders import SqliteBuyerOrders
from shared.stores.sqlite.connections import make_file
from shared.stores.sqlite.stats import SqliteStats
from shared.stores.sqlite.turnstile import Turnstile
from tests.builders import make_order
from tests.fakes.system import FakeClock


def open_in(folder: Path) -> SqliteStore:
    """Open the store of a folder."""
    return SqliteStore(folder, FakeClock())


def test_a_store_is_made_in_a_folder_that_is_not_there(tmp_path: Path) -> None:
    """The folder appears with nothing half-made, and what is stored is there when it is opened again."""
    folder = tmp_path / "a" / "b"
    store = open_in(folder)
    store.accept(make_order())
    store.close()
    assert {path.name for path in folder.iterdir()} == {"onsale.db", "onsale.db-turn"}

    store = open_in(folder)
    assert store.get_order(make_order().key) == make_order()
    store.close()


def test_it_is_durable_by_its_settings(tmp_path: Path) -> None:
    """Every commit is synced, in a write-ahead log that readers do not wait for."""
    store = open_in(tmp_path)
    writer = store._database._writer

    assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert writer.execute("PRAGMA synchronous").fetchone() == (2,)
    store.close()


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    """Closing twice is nothing; reading and writing are Unavailable."""
    store = open_in(tmp_path)
    store.close()
    store.close()

    with pytest.raises(Unavailable, match="closed"):
        store.get_order(make_order().key)
    with pytest.raises(Unavailable, match="closed"):
        store.accept(make_order())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_the_right_to_write_is_told(tmp_path: Path) -> None:
    """The sentence names the folder and the setting that chooses another one."""
    tmp_path.chmod(0o500)

    with pytest.raises(Unavailable, match="ONSALE_DATA_DIR") as refused:
        open_in(tmp_path)
    assert str(tmp_path) in refused.value.message


def test_a_folder_that_is_a_file_is_told(tmp_path: Path) -> None:
    """The sentence names the setting that chooses another one."""
    (tmp_path / "file").write_text("x")

    with pytest.raises(Unavailable, match="ONSALE_DATA_DIR"):
        open_in(tmp_path / "file")


def test_a_lock_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """The sentence names the setting that chooses another folder, and nothing stays open."""
    (tmp_path / "onsale.db-turn").mkdir()

    with pytest.raises(Unavailable, match="ONSALE_DATA_DIR"):
        open_in(tmp_path)


def test_a_store_locked_by_another_program_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening and writing are Contended while somebody else holds the file, and go on afterwards."""
    monkeypatch.setattr("shared.stores.sqlite.turnstile.MAX_LOOKS", 3)
    store = open_in(tmp_path)
    other = sqlite3.connect(tmp_path / "onsale.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(Contended, match=r"onsale\.db"):
        store.accept(make_order())
    with pytest.raises(Contended, match=r"onsale\.db"):
        open_in(tmp_path)
    assert store.get_order(make_order().key) is None

    other.execute("ROLLBACK")
    other.close()
    assert store.accept(make_order()).created
    store.close()


@pytest.mark.parametrize("content", [b"", b"This is no database at all, however long it goes on. " * 50])
def test_a_file_that_is_no_store_is_told(tmp_path: Path, content: bytes) -> None:
    """It is left as it is."""
    path = tmp_path / "onsale.db"
    path.write_bytes(content)

    with pytest.raises(Broken):
        open_in(tmp_path)
    assert path.read_bytes() == content


def test_a_store_of_another_layout_is_told(tmp_path: Path) -> None:
    """The sentence says how its content comes over."""
    open_in(tmp_path).close()
    connection = sqlite3.connect(tmp_path / "onsale.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    with pytest.raises(Broken, match="export"):
        open_in(tmp_path)


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    """Nothing of the order is stored, and the store goes on once there is room."""
    store = open_in(tmp_path)
    store.accept(make_order(1))
    writer = store._database._writer
    pages = writer.execute("PRAGMA page_count").fetchone()[0]
    writer.execute(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(Unavailable, match="full"):
        store.accept(make_order(2, holder="x" * 100_000))
    assert store.get_order(make_order(2).key) is None

    writer.execute("PRAGMA max_page_count = 1000000")
    assert store.accept(make_order(2)).created
    store.close()


def test_a_store_that_appears_meanwhile_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two processes that make the file at once, the second uses the first one's."""
    store = open_in(tmp_path)
    store.accept(make_order())
    store.close()

    with monkeypatch.context() as patch:
        patch.setattr(Path, "exists", lambda _path: False)
        make_file(tmp_path / "onsale.db", "now")

    store = open_in(tmp_path)
    assert store.get_order(make_order().key) == make_order()
    store.close()


def test_a_writer_waits_for_whoever_came_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one process stands before the file no other begins; afterwards it does."""
    monkeypatch.setattr("shared.stores.sqlite.turnstile.MAX_LOOKS", 3)
    store = open_in(tmp_path)
    first = Turnstile(tmp_path / "onsale.db")

    with first.standing(), pytest.raises(Contended):
        store.accept(make_order())
    assert store.accept(make_order()).created

    first.close()
    store.close()


@pytest.mark.parametrize("opened", ["store", "stats", "buyer-orders"])
def test_a_file_that_cannot_be_opened_is_not_kept_open(tmp_path: Path, opened: str) -> None:
    """Whoever mends the file need not end the program first."""
    kinds: dict[str, tuple[str, Callable[[], object]]] = {
        "store": ("onsale.db", lambda: open_in(tmp_path)),
        "stats": ("stats.db", lambda: SqliteStats(tmp_path, FakeClock())),
        "buyer-orders": ("buyer-orders.db", lambda: SqliteBuyerOrders(tmp_path)),
    }
    name, opening = kinds[opened]
    (tmp_path / name).write_bytes(b"This is no database at all, however long it goes on. " * 50)
    before = open_connections()

    with pytest.raises(OnsaleError) as told:
        opening()

    # The error holds on to the frames it passed, and so to what they left open.
    assert told.value.__traceback__ is not None
    assert open_connections() == before


def open_connections() -> set[int]:
    """Return which connections of this process are open, by identity."""
    return {id(one) for one in gc.get_objects() if isinstance(one, sqlite3.Connection) and is_open(one)}


def is_open(connection: sqlite3.Connection) -> bool:
    """Say whether a connection still holds its file."""
    try:
        connection.total_changes  # noqa: B018 - it answers of open connections only
    except sqlite3.ProgrammingError:
        return False
    return True
