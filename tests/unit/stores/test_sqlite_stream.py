"""What SQLite's change log can do beyond the contract: split, show again, forget."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from shared.domain import transitions
from shared.domain.errors import NotFound
from shared.stores.sqlite import SqliteStore
from tests.builders import make_order
from tests.fakes.system import FakeClock

DAY_S = 24 * 60 * 60


@pytest.fixture
def clock() -> FakeClock:
    """Return the store's clock."""
    return FakeClock()


@pytest.fixture
def store(clock: FakeClock) -> Iterator[SqliteStore]:
    """Open a store in memory."""
    store = SqliteStore(None, clock, table="t", region="eu-central-1")
    yield store
    store.close()


def accept(store: SqliteStore, count: int, *, first: int = 0) -> list[str]:
    """Accept some orders; return their ids."""
    orders = [make_order(number, op=f"op-{number}") for number in range(first, first + count)]
    for order in orders:
        store.accept(order)
    return [order.key.order_id for order in orders]


def read(store: SqliteStore, stream_shard: str, cursor: str | None = None) -> tuple[list[str], str | None]:
    """Read a stream shard to its present end: the ids of the changed orders, and where to go on."""
    ids: list[str] = []
    while True:
        page = store.read_changes(stream_shard, cursor=cursor, limit=3)
        ids += [record["dynamodb"]["Keys"]["sk"]["S"] for record in page.records]
        cursor = page.cursor
        if cursor is None or not page.records:
            return ids, cursor


def test_four_stream_shards_share_the_keys(store: SqliteStore) -> None:
    """Each order belongs to one of them, and none stays empty for long."""
    ids = accept(store, 100)
    shown = [read(store, stream_shard)[0] for stream_shard in store.stream_shards()]

    assert len(shown) == 4
    assert all(shown)
    assert sorted(order_id for part in shown for order_id in part) == sorted(ids)


def test_a_split_ends_the_parent_and_goes_on_in_two_children(store: SqliteStore) -> None:
    """The parent keeps what came before, the children share what comes after, and parents are listed first."""
    parent, *others = store.stream_shards()
    accept(store, 100)
    _, cursor = read(store, parent)
    between = accept(store, 50, first=100)
    store.split_stream_shard(parent)
    after = accept(store, 100, first=150)

    names = store.stream_shards()
    children = names[4:]
    assert names[:4] == (parent, *others)
    assert len(children) == 2

    rest, end = read(store, parent, cursor)
    assert end is None
    assert rest
    assert set(rest) <= set(between)
    of_children = [read(store, child)[0] for child in children]
    assert all(of_children)
    assert set(of_children[0]).isdisjoint(of_children[1])
    of_others = [order_id for other in others for order_id in read(store, other)[0]]
    assert {*of_children[0], *of_children[1], *of_others} >= set(after)
    assert len(of_others) + sum(map(len, of_children)) + len(read(store, parent)[0]) == 250


def test_a_split_stream_shard_is_not_split_again(store: SqliteStore) -> None:
    """Its children may be."""
    parent = store.stream_shards()[0]
    store.split_stream_shard(parent)
    store.split_stream_shard(parent)
    assert len(store.stream_shards()) == 6

    store.split_stream_shard(store.stream_shards()[4])
    assert len(store.stream_shards()) == 8


def test_open_stream_shards_always_share_all_keys(store: SqliteStore) -> None:
    """However often they are split, no key is in two of them and none in no one."""
    for _ in range(5):
        store.split_stream_shard(store.stream_shards()[-1])
    query = "SELECT low, high FROM stream_shards WHERE until_seq IS NULL ORDER BY low"
    ranges = store._database.read(lambda connection: connection.execute(query).fetchall())

    assert (ranges[0][0], ranges[-1][1]) == (0, 2**32 - 1)
    assert all(after[0] == before[1] + 1 for before, after in itertools.pairwise(ranges))


def test_an_order_keeps_its_changes_in_order_over_a_split(store: SqliteStore) -> None:
    """Read parent first, its versions follow one another."""
    order = make_order(1)
    store.accept(order)
    for rev in range(1, 6):
        for stream_shard in store.stream_shards():
            if rev % 2:
                store.split_stream_shard(stream_shard)
        changed = transitions.look_now(replace(order, rev=rev), op=f"op-{rev}", now_ms=rev)
        assert store.save(changed, seen_rev=rev).done

    revs = [
        int(record["dynamodb"]["NewImage"]["rev"]["N"])
        for stream_shard in store.stream_shards()
        for record in store.read_changes(stream_shard, cursor=None, limit=100).records
    ]
    assert revs == [1, 2, 3, 4, 5, 6]


def test_records_are_shown_again_on_demand(store: SqliteStore) -> None:
    """The next read begins at the earlier place, with the same event ids; the one after goes on."""
    accept(store, 40)
    stream_shard = store.stream_shards()[0]
    first = store.read_changes(stream_shard, cursor=None, limit=3)
    second = store.read_changes(stream_shard, cursor=first.cursor, limit=3)

    store.redeliver(stream_shard)
    again = store.read_changes(stream_shard, cursor=second.cursor, limit=3)
    assert again.records == first.records

    store.redeliver(stream_shard, since=first.cursor)
    assert store.read_changes(stream_shard, cursor=second.cursor, limit=3).records == second.records


def test_changes_are_forgotten_after_a_day(store: SqliteStore, clock: FakeClock) -> None:
    """Younger ones stay, and numbers go on where they were."""
    accept(store, 20)
    clock.advance(DAY_S / 2)
    young = accept(store, 20, first=20)
    clock.advance(DAY_S / 2 + 1)

    assert store.trim_changes() == 20
    assert store.trim_changes() == 0
    assert sorted(i for s in store.stream_shards() for i in read(store, s)[0]) == sorted(young)

    clock.advance(DAY_S)
    assert store.trim_changes() == 20
    store.split_stream_shard(store.stream_shards()[0])
    last = accept(store, 20, first=40)
    assert sorted(i for s in store.stream_shards() for i in read(store, s)[0]) == sorted(last)


def test_a_record_names_its_table_and_region(store: SqliteStore) -> None:
    """As the stream of the table of that name would."""
    accept(store, 1)
    records = [r for s in store.stream_shards() for r in store.read_changes(s, cursor=None, limit=9).records]

    assert records[0]["awsRegion"] == "eu-central-1"
    assert records[0]["eventSourceARN"].startswith("arn:aws:dynamodb:eu-central-1:000000000000:table/t/stream/1970-")
    assert len(records[0]["dynamodb"]["SequenceNumber"]) == 21


def test_an_unknown_stream_shard_is_not_found(store: SqliteStore) -> None:
    """Neither read nor split."""
    with pytest.raises(NotFound):
        store.read_changes("shardId-1-1", cursor=None, limit=1)
    with pytest.raises(NotFound):
        store.split_stream_shard("nonsense")
