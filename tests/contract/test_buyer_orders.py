"""What every store of buyers' copies does."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from infra.local.ministack import create_local_tables
from shared.domain.errors import Invalid, Unavailable
from shared.domain.money import Money
from shared.domain.order import Status
from shared.ports.buyer_orders import MAX_PUT, BuyerOrder, BuyerOrdersStore
from shared.settings import Settings
from shared.wiring import open_buyer_orders


@pytest.fixture(params=["sqlite", "dynamodb"])
def copies(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BuyerOrdersStore]:
    """Open the copies of a fresh deployment with each store."""
    settings = Settings(data_dir=str(tmp_path))
    if request.param == "dynamodb":
        url = request.getfixturevalue("ministack")
        prefix = f"copies-{uuid.uuid4().hex[:8]}"
        create_local_tables(url, prefix)
        settings = Settings(store="dynamodb", dynamodb_url=url, table_prefix=prefix)
    store = open_buyer_orders(settings)
    yield store
    store.close()


def make_copy(number: int = 1, **changes: Any) -> BuyerOrder:  # noqa: ANN401 - as `replace` takes them
    """Make a copy with something in every part."""
    order = BuyerOrder(
        buyer_id="ann",
        event_id="gig",
        order_id=f"1-{number:032x}",
        status=Status.CANCELLED,
        reason="buyer_cancelled",
        quantity=2,
        amount=Money(5_000, "EUR"),
        refunded_minor=5_000,
        accepted_at_ms=1_000 + number,
        updated_at_ms=2_000,
        rev=3,
    )
    return replace(order, **changes)


def test_a_copy_is_read_as_it_was_stored(copies: BuyerOrdersStore) -> None:
    """Every part comes back, and nobody else's."""
    plain = make_copy(2, reason=None, refunded_minor=0, status=Status.QUEUED, rev=1)
    copies.put([make_copy(1), plain, make_copy(3, buyer_id="bob")])

    assert copies.list_orders("ann", limit=10).orders == (plain, make_copy(1))
    assert copies.list_orders("bob", limit=10).orders == (make_copy(3, buyer_id="bob"),)
    assert copies.list_orders("cy", limit=10).orders == ()


def test_whatever_comes_last_the_latest_rev_stands(copies: BuyerOrdersStore) -> None:
    """Changes may come late, twice and in any order: the copy ends as the order's last version."""
    versions = [make_copy(rev=rev, updated_at_ms=2_000 + rev) for rev in range(1, 6)]
    arrivals = versions * 2
    random.Random(7).shuffle(arrivals)
    for version in arrivals:
        copies.put([version])

    assert copies.list_orders("ann", limit=10).orders == (versions[-1],)


def test_a_list_pages_from_the_newest(copies: BuyerOrdersStore) -> None:
    """Each order comes once, newest first, and the last page says that it is the last."""
    copies.put([make_copy(number) for number in range(25)])
    seen: list[BuyerOrder] = []
    cursor: str | None = None
    for _ in range(9):
        page = copies.list_orders("ann", limit=10, cursor=cursor)
        seen += page.orders
        cursor = page.cursor
        if cursor is None:
            break

    assert [order.accepted_at_ms for order in seen] == [1_000 + number for number in reversed(range(25))]


@pytest.mark.parametrize("cursor", ["", "x", "1#gig", "1#gig#1-0#more", "1#G!g#1-0", "é#gig#1-0"])
def test_a_foreign_cursor_is_refused(copies: BuyerOrdersStore, cursor: str) -> None:
    """It is refused with a sentence before the store sees it."""
    with pytest.raises(Invalid):
        copies.list_orders("ann", limit=10, cursor=cursor)


def test_progress_only_grows(copies: BuyerOrdersStore) -> None:
    """The newest change of any stream shard counts; an older one changes nothing."""
    assert copies.progress_ms() is None
    for shard, at_ms in (("a", 5_000), ("b", 7_000), ("a", 6_000), ("b", 1_000)):
        copies.note_progress(shard, at_ms)

    assert copies.progress_ms() == 7_000


def test_bounds_are_kept(copies: BuyerOrdersStore) -> None:
    """One call takes so many copies and no more; nothing to store is nothing wrong."""
    copies.put([])
    with pytest.raises(Invalid):
        copies.put([make_copy(number) for number in range(MAX_PUT + 1)])


def test_a_closed_store_says_so(copies: BuyerOrdersStore) -> None:
    """Afterwards every call is Unavailable."""
    copies.close()
    with pytest.raises(Unavailable):
        copies.list_orders("ann", limit=1)
