"""The definition of a sale and its rules."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from shared.domain.errors import Conflicting, Invalid, NotFound
from shared.domain.inventory import PoolState, SliceState, opening_counts
from shared.domain.sale import Pool, SaleStatus, TicketType, check_sale, group_of, slice_of
from tests.builders import make_sale


@pytest.mark.parametrize(
    ("now_ms", "reason"),
    [(999, "not-on-sale-yet"), (1_000, None), (999_999_999, None), (1_000_000_000, "closed")],
)
def test_r12_opening_is_inclusive_and_closing_exclusive(now_ms: int, reason: str | None) -> None:
    """R12: at the opening millisecond orders are taken, at the closing one no more."""
    sale = make_sale()
    if reason is None:
        sale.refuse_unless_accepting(now_ms)
    else:
        with pytest.raises(Conflicting) as refusal:
            sale.refuse_unless_accepting(now_ms)
        assert refusal.value.reason == reason


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"event_id": "a#b"}, "event_id"),
        ({"event_id": "a/b"}, "event_id"),
        ({"event_id": "🎸"}, "event_id"),
        ({"event_id": "x" * 300}, "event_id"),
        ({"event_id": ""}, "event_id"),
        ({"event_id": "gig\n"}, "event_id"),
        ({"currency": "EURO"}, "currency"),
        ({"name": "  "}, "name"),
        ({"closes_at_ms": 1_000}, "closes_at"),
        ({"pools": ()}, "pools"),
        ({"ticket_types": ()}, "ticket_types"),
        ({"shard_counts": (0,)}, "shards"),
        ({"shard_counts": (1025,)}, "shards"),
        ({"max_per_order": 0}, "max_per_order"),
        ({"max_per_buyer": 0}, "max_per_buyer"),
        ({"hold_ttl_s": 0}, "hold_ttl_s"),
        ({"accept_per_s": 0}, "accept_per_s"),
        ({"salt": b"short"}, "salt"),
        ({"pools": (Pool("floor", 0),)}, "pools.0.capacity"),
        ({"pools": (Pool("floor", 999, slices=2),)}, "pools.0.slices"),
        ({"pools": (Pool("floor", 10), Pool("floor", 10))}, "pools.1.pool_id"),
        ({"ticket_types": (TicketType("a", "A", "roof", 1),)}, "ticket_types.0.pool_id"),
        ({"ticket_types": (TicketType("a", "A", "floor", -1),)}, "amount"),
        ({"ticket_types": (TicketType("a", "A", "floor", 1), TicketType("a", "B", "floor", 1))}, "ticket_types.1"),
    ],
)
def test_r13_a_definition_that_breaks_a_rule_names_the_field(changes: dict[str, Any], field: str) -> None:
    """R13: every rule of a definition is checked, and the refusal says which field broke it."""
    with pytest.raises(Invalid) as refusal:
        check_sale(make_sale(**changes))
    assert refusal.value.field.startswith(field)


def test_a_plain_definition_passes() -> None:
    """The smallest whole definition is accepted, and so is one at the limits."""
    check_sale(make_sale())
    check_sale(make_sale(pools=(Pool("floor", 1_000, slices=2),), shard_counts=(1024,)))


def test_the_salt_shows_in_no_text() -> None:
    """The salt that keys the order ids stays out of logs and errors."""
    assert repr(make_sale().salt) not in repr(make_sale())


def test_an_ended_sale_stays_ended() -> None:
    """Closing twice is one closing; nothing opens a closed or cancelled sale again."""
    closed = make_sale().changed(SaleStatus.CLOSED)
    assert closed.changed(SaleStatus.CLOSED).status is SaleStatus.CLOSED
    with pytest.raises(Conflicting):
        closed.changed(SaleStatus.ACTIVE)


def test_every_shard_feeds_one_slice_of_every_pool() -> None:
    """Shards fold onto groups, groups onto slices, and all slices are fed."""
    sale = make_sale(pools=(Pool("floor", 2_000, slices=4), Pool("roof", 10)), shard_counts=(10,))
    assert sale.groups == 4
    for pool in sale.pools:
        fed = {slice_of(pool, group_of(sale, shard)) for shard in range(10)}
        assert fed == set(range(pool.slices))


@given(st.integers(1, 100_000), st.integers(1, 64))
def test_a_new_pool_is_split_without_losing_a_seat(capacity: int, slices: int) -> None:
    """Unassigned and slices together are the capacity; a single slice holds it all."""
    unassigned, parts = opening_counts(capacity, slices)
    state = PoolState(
        "floor",
        capacity,
        unassigned,
        withheld=0,
        round=0,
        sold_out=False,
        version=1,
        slices=tuple(SliceState(at, unsold, 0, 1) for at, unsold in enumerate(parts)),
    )
    assert state.balanced
    assert state.left == capacity
    assert slices > 1 or unassigned == 0
    assert not replace(state, withheld=1).balanced


def test_a_shard_map_grows_and_never_shrinks() -> None:
    """Each growth is a new version of the map; the same number is no change."""
    grown = make_sale(shard_counts=(4,)).resharded(16)

    assert (grown.shard_counts, grown.map_version, grown.version) == ((4, 16), 2, 2)
    assert grown.resharded(16) is grown
    with pytest.raises(Conflicting) as refusal:
        grown.resharded(8)
    assert (refusal.value.reason, refusal.value.details) == ("shards-only-grow", {"shards": 16})


def test_a_shard_map_grows_twice() -> None:
    """Repeated requests must still find orders of every earlier map, and there are at most two."""
    grown = make_sale(shard_counts=(4,)).resharded(16).resharded(64)

    check_sale(grown)
    with pytest.raises(Conflicting) as refusal:
        grown.resharded(256)
    assert refusal.value.reason == "shard-map-full"


@pytest.mark.parametrize("status", [SaleStatus.CLOSED, SaleStatus.CANCELLED])
def test_a_sale_that_has_ended_needs_no_more_shards(status: SaleStatus) -> None:
    """No more orders come."""
    with pytest.raises(Conflicting) as refusal:
        make_sale(status=status).resharded(16)
    assert refusal.value.reason == status


def test_a_capacity_is_changed_in_one_pool() -> None:
    """The other pools stay; the same number is no change."""
    sale = make_sale(pools=(Pool("floor", 10), Pool("roof", 5)))
    more = sale.with_capacity("roof", 6)

    assert more.pools == (Pool("floor", 10), Pool("roof", 6))
    assert (more.version, more.with_capacity("roof", 6)) == (2, more)
    with pytest.raises(NotFound):
        sale.with_capacity("cellar", 6)
