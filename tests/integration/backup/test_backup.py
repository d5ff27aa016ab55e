"""A sale out of one store and into another: equal in every item and counter, and nothing altered goes unnoticed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from infra.backup.export import Exported, export_sale
from infra.backup.folder import MANIFEST, Damaged, Folder
from infra.backup.restore import restore_sale
from infra.usage import Usage
from infra.verify.run import verify
from shared.domain.errors import Conflicting
from shared.domain.order import Seats, Status
from shared.domain.order_id import OrderKey
from shared.domain.sale import Pool
from shared.ports.backup import BackupStore, ItemPage
from shared.ports.store import Store
from shared.stores.dynamo.backup import DynamoBackup
from shared.stores.dynamo.client import Calls
from shared.stores.dynamo.store import DynamoStore
from shared.stores.dynamo.tables import Tables, create_tables, delete_tables
from shared.stores.items import order_item, tombstone_item
from shared.stores.sqlite.backup import SqliteBackup
from shared.stores.sqlite.store import SqliteStore
from tests.builders import make_order, make_sale
from tests.emulators import ministack_client
from tests.fakes.system import FakeClock

ORDERS = 60
HELD = 12
SALE = make_sale(pools=(Pool("floor", 40),), max_per_buyer=4)
Pair = tuple[Store, BackupStore]


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[Pair]:
    """An empty SQLite store."""
    store = SqliteStore(tmp_path / "sqlite", FakeClock())
    backup = SqliteBackup.open(tmp_path / "sqlite", FakeClock())
    yield store, backup
    backup.close()
    store.close()


@pytest.fixture
def dynamo(ministack: str) -> Iterator[Pair]:
    """An empty DynamoDB store."""
    tables = Tables("backup-test")
    client = ministack_client()
    create_tables(client, tables)
    yield DynamoStore(client, tables), DynamoBackup(Calls(client), tables)
    delete_tables(client, tables)


def fill(pair: Pair) -> None:
    """Store a sale with orders in line, some of them held, a limit per buyer, and a tombstone."""
    store, backup = pair
    store.create_sale(SALE)
    store.open_inventory(SALE)
    orders = [make_order(number, buyer=f"buyer-{number % 20}") for number in range(1, ORDERS + 1)]
    held = [
        replace(order, status=Status.HELD, rev=order.rev + 1, seats=(Seats("floor", 0, 1),), held_at_ms=5_000)
        for order in orders[:HELD]
    ]
    backup.put_items([order_item(order) for order in (*held, *orders[HELD:])])
    backup.put_items([tombstone_item(OrderKey("gig", 3, "1-" + "f" * 32), "2-" + "f" * 32)])
    pool = store.get_pool(SALE, "floor")
    part = pool.slices[0]
    backup.put_pools(
        "gig",
        [replace(pool, slices=(replace(part, unsold=part.unsold - HELD, taken=HELD, version=9), *pool.slices[1:]))],
    )
    backup.put_counts("gig", {f"buyer-{number}": 1 for number in range(1, HELD + 1)})


def everything(pair: Pair) -> tuple[object, ...]:
    """Read all that a sale is made of."""
    store, backup = pair
    items = [item for shard in range(4) for item in backup.read_items("gig", shard, limit=1000).items]
    buyers = sorted({item["buyer"] for item in items if "buyer" in item})
    sale = store.get_sale("gig").sale
    return items, store.get_pool(sale, "floor"), store.buyer_counts("gig", buyers), sale


def exported(pair: Pair, path: Path) -> Exported:
    """Export the sale."""
    return export_sale(pair[0], pair[1], "gig", Folder(path))


@pytest.mark.parametrize(("source", "target"), [("sqlite", "dynamo"), ("dynamo", "sqlite")])
def test_a_copy_in_the_other_kind_of_store_is_equal(
    source: str, target: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Every item, tombstones included, every counter and the sale are the same, and verification answers the same."""
    one, other = request.getfixturevalue(source), request.getfixturevalue(target)
    fill(one)

    done = exported(one, tmp_path / "backup")
    event_id = restore_sale(other[0], other[1], Folder(tmp_path / "backup"))

    assert (event_id, done.items, done.still) == ("gig", ORDERS + 1, True)
    assert everything(one) == everything(other)
    answers = [verify(pair[0], None, "gig", clock=FakeClock()).truths for pair in (one, other)]
    assert answers[0] == answers[1]
    assert answers[0]["I1"] == "true"


def test_one_flipped_byte_is_found_wherever_it_is(sqlite: Pair, tmp_path: Path) -> None:
    """In each file, at its beginning, its end and somewhere between; the segment is named."""
    fill(sqlite)
    exported(sqlite, tmp_path / "backup")
    dice = random.Random(7)
    for path in sorted((tmp_path / "backup").iterdir()):
        data = path.read_bytes()
        for at in {0, len(data) - 1, dice.randrange(len(data))}:
            path.write_bytes(data[:at] + bytes([data[at] ^ 1 << dice.randrange(8)]) + data[at + 1 :])
            with pytest.raises(Damaged, match=path.name):
                Folder(tmp_path / "backup").check()
        path.write_bytes(data)

    assert Folder(tmp_path / "backup").check()[0] == "gig"


def test_a_missing_segment_is_named(sqlite: Pair, dynamo: Pair, tmp_path: Path) -> None:
    """Nothing is written from a backup that is not whole."""
    fill(sqlite)
    exported(sqlite, tmp_path / "backup")
    lost = next((tmp_path / "backup").glob("orders-0002-*"))
    lost.unlink()

    with pytest.raises(Damaged, match=f"{lost.name} is missing"):
        restore_sale(dynamo[0], dynamo[1], Folder(tmp_path / "backup"))

    assert dynamo[0].list_sales() == ()


def test_an_interrupted_export_goes_on(sqlite: Pair, tmp_path: Path) -> None:
    """What was written is kept, what was cut off is written again, and the whole is the same as without a break."""
    fill(sqlite)

    class PowerCut(Exception):
        pass

    class Fails(SqliteBackup):
        left = 3

        def read_items(self, event_id: str, shard: int, *, limit: int, cursor: str | None = None) -> ItemPage:
            self.left -= 1
            if self.left < 0:
                raise PowerCut
            return super().read_items(event_id, shard, limit=5, cursor=cursor)

    failing = Fails.open(tmp_path / "sqlite", FakeClock())
    with pytest.raises(PowerCut):
        export_sale(sqlite[0], failing, "gig", Folder(tmp_path / "backup"))
    failing.close()
    with (tmp_path / "backup" / MANIFEST).open("ab") as manifest:
        manifest.write(b'{"name": "orders-00')
    with pytest.raises(Damaged, match="interrupted"):
        Folder(tmp_path / "backup").check()

    again = exported(sqlite, tmp_path / "backup")
    third = exported(sqlite, tmp_path / "backup")

    assert again.items == ORDERS + 1
    assert third == again


def test_a_store_that_has_the_sale_is_left_alone(sqlite: Pair, tmp_path: Path) -> None:
    """A restore never writes over a sale."""
    fill(sqlite)
    exported(sqlite, tmp_path / "backup")

    with pytest.raises(Conflicting, match="already has"):
        restore_sale(sqlite[0], sqlite[1], Folder(tmp_path / "backup"))


def test_a_folder_with_other_files_is_refused(sqlite: Pair, tmp_path: Path) -> None:
    """An export neither mixes with strangers nor with another sale."""
    fill(sqlite)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("years of work")

    with pytest.raises(Usage, match="other files"):
        exported(sqlite, tmp_path / "other")
