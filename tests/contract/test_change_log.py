"""The stream of changes: every effective change of an order once, in order, as DynamoDB writes it."""

from __future__ import annotations

from collections import defaultdict

from shared.domain import transitions
from shared.domain.order import Order
from shared.ports.changes import ChangeLog, StreamRecord
from shared.ports.store import Store
from shared.stores.items import order_item
from shared.stores.wire import from_wire
from tests.builders import make_order
from tests.contract.steps import batch_of, expired, queue, sale_of, stored

MAX_PAGES = 200


def all_changes(log: ChangeLog, *, limit: int = 1_000) -> dict[str, list[StreamRecord]]:
    """Read every stream shard to its present end, and sort the records by order id."""
    by_order: dict[str, list[StreamRecord]] = defaultdict(list)
    for stream_shard in log.stream_shards():
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = log.read_changes(stream_shard, cursor=cursor, limit=limit)
            assert len(page.records) <= limit
            for record in page.records:
                by_order[record["dynamodb"]["Keys"]["sk"]["S"]].append(record)
            cursor = page.cursor
            if cursor is None or not page.records:
                break
    return dict(by_order)


def revisions(records: list[StreamRecord]) -> list[tuple[int | None, int | None]]:
    """Return (old rev, new rev) of each record."""

    def rev(record: StreamRecord, image: str) -> int | None:
        found = record["dynamodb"].get(image)
        return None if found is None else int(found["rev"]["N"])

    return [(rev(record, "OldImage"), rev(record, "NewImage")) for record in records]


def live(store: Store) -> list[Order]:
    """Let three orders be accepted and held, one of them be released, one be written once more."""
    store.open_inventory(sale_of(10))
    orders = queue(store, 3)
    assert store.hold_batch(batch_of(orders, max_per_buyer=3)).held
    held = [stored(store, order) for order in orders]
    store.release(expired(held[0]), seen_rev=2, withhold=False, max_per_buyer=3)
    store.save(transitions.look_now(held[1], op="look", now_ms=30_000), seen_rev=2)
    return orders


def test_every_change_is_shown_once_in_order(store: Store, log: ChangeLog) -> None:
    """Accepting, holding, releasing and saving each leave one record of each order."""
    orders = live(store)

    shown = {order_id: revisions(records) for order_id, records in all_changes(log).items()}

    assert shown == {
        orders[0].key.order_id: [(None, 1), (1, 2), (2, 3)],
        orders[1].key.order_id: [(None, 1), (1, 2), (2, 3)],
        orders[2].key.order_id: [(None, 1), (1, 2)],
    }


def test_what_changes_nothing_is_not_shown(store: Store, log: ChangeLog) -> None:
    """Lost races, second accepts, repeated calls, refused batches and equal versions leave no record."""
    orders = live(store)
    before = all_changes(log)

    store.accept(orders[0])
    store.save(transitions.look_now(orders[2], op="late", now_ms=40_000), seen_rev=1)
    store.hold_batch(batch_of(orders, op="hold-2"))
    store.release(expired(as_held(orders[0])), seen_rev=2, withhold=False, max_per_buyer=3)
    same = stored(store, orders[2])
    assert store.save(same, seen_rev=same.rev).done

    assert all_changes(log) == before


def as_held(order: Order) -> Order:
    """Return the order as it was while held."""
    return transitions.hold(order, op="hold-1", now_ms=20_000, hold_ends_at_ms=80_000, slices={"floor": 0})


def test_a_record_has_the_shape_of_the_stream(store: Store, log: ChangeLog) -> None:
    """It names its source and carries both images with their types."""
    order = make_order(buyer="Zoë 🎟️", op="op-1")
    store.accept(order)
    cancelled = transitions.cancel_queued(order, op="op-2", now_ms=3_000)
    store.save(cancelled, seen_rev=1)

    first, second = all_changes(log)[order.key.order_id]

    assert [first["eventName"], second["eventName"]] == ["INSERT", "MODIFY"]
    assert first["eventID"] != second["eventID"]
    for record in (first, second):
        assert record["eventSource"] == "aws:dynamodb"
        assert ":table/" in record["eventSourceARN"]
        assert "/stream/" in record["eventSourceARN"]
        change = record["dynamodb"]
        assert change["Keys"] == {"pk": {"S": order.key.partition}, "sk": {"S": order.key.order_id}}
        assert change["StreamViewType"] == "NEW_AND_OLD_IMAGES"
        assert change["SequenceNumber"].isdecimal()
        assert isinstance(change["ApproximateCreationDateTime"], int | float)
    assert "OldImage" not in first["dynamodb"]
    assert from_wire(first["dynamodb"]["NewImage"]) == order_item(order)
    assert second["dynamodb"]["OldImage"] == first["dynamodb"]["NewImage"]
    assert from_wire(second["dynamodb"]["NewImage"]) == order_item(cancelled)


def test_a_reader_goes_on_from_its_cursor(store: Store, log: ChangeLog) -> None:
    """Read one by one, with changes coming in between, nothing is missed or shown twice."""
    seen: list[str] = []
    cursors: dict[str, str | None] = {}
    for number in range(10):
        store.accept(make_order(number, buyer=f"buyer-{number}", op=f"op-{number}"))
        for stream_shard in log.stream_shards():
            page = log.read_changes(stream_shard, cursor=cursors.get(stream_shard), limit=1)
            cursors[stream_shard] = page.cursor
            seen += [record["eventID"] for record in page.records]
    for stream_shard in log.stream_shards():
        while (page := log.read_changes(stream_shard, cursor=cursors[stream_shard], limit=1)).records:
            cursors[stream_shard] = page.cursor
            seen += [record["eventID"] for record in page.records]

    assert len(seen) == len(set(seen)) == 10
