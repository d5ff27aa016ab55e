"""What a store takes: sizes, keys, and every text that people write."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from shared.domain.errors import Invalid
from shared.domain.order import Lane, Order
from shared.domain.order_id import OrderKey
from shared.domain.sale import Pool
from shared.ports.store import Store
from shared.stores.items import order_item
from shared.stores.limits import MAX_ITEM_BYTES, MAX_SORT_KEY_BYTES, whole_item_bytes
from tests.builders import make_order, make_sale
from tests.contract.steps import all_due, all_orders, batch_of, order_on, stored

# A store is opened once a test; its examples keep apart by their events.
many_examples = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
events = itertools.count()
# Sort keys in UTF-8 have 1 to 1,024 bytes; half characters cannot be written in UTF-8 at all. The work index's
# key has the time and the id.
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


def order_of_size(size: int) -> Order:
    """Make an order whose item has exactly `size` bytes."""
    order = make_order(holder="x")
    return replace(order, holder="x" * (1 + size - whole_item_bytes(order_item(order))))


def test_the_largest_item_is_taken(store: Store) -> None:
    """R11: 409,600 bytes are stored and read back."""
    order = order_of_size(MAX_ITEM_BYTES)
    store.accept(order)

    assert stored(store, order) == order


def test_one_byte_more_is_refused(store: Store) -> None:
    """R11: it is refused before anything is written, by accept and save alike."""
    order = order_of_size(MAX_ITEM_BYTES + 1)
    with pytest.raises(Invalid):
        store.accept(order)
    assert store.get_order(order.key) is None

    store.accept(make_order())
    with pytest.raises(Invalid):
        store.save(replace(order, rev=2), seen_rev=1)
    assert stored(store, order) == make_order()


@pytest.mark.parametrize("order_id", ["", "x" * (MAX_SORT_KEY_BYTES + 1), "é" * (MAX_SORT_KEY_BYTES // 2 + 1)])
def test_an_impossible_key_is_refused(store: Store, order_id: str) -> None:
    """An empty key and one of too many bytes never reach the store."""
    with pytest.raises(Invalid):
        store.accept(order_on(0, order_id))


def test_half_a_character_is_refused(store: Store) -> None:
    """A lone surrogate has no UTF-8 form."""
    with pytest.raises(Invalid):
        store.accept(make_order(holder="\ud83c"))


@pytest.mark.parametrize("word", ["order", "status", "size", "items", "values", "select", "table", "null", "a.b-c_d"])
def test_reserved_words_are_plain_names(store: Store, word: str) -> None:
    """Events, pools and buyers may be called what a query language reserves."""
    sale = make_sale(event_id=word, pools=(Pool(word, 5),))
    store.create_sale(sale)
    store.open_inventory(sale)
    order = replace(make_order(buyer=word), key=OrderKey(word, 0, word))
    order = replace(order, demand=(replace(order.demand[0], pool_id=word),))
    store.accept(order)

    assert store.hold_batch(batch_of([order], max_per_buyer=1)).held
    assert store.get_pool(sale, word).taken == 1
    assert store.buyer_counts(word, [word]) == {word: 1}


@many_examples
@given(st.sets(ids, min_size=1, max_size=8))
def test_keys_are_ordered_by_their_bytes(store: Store, order_ids: set[str]) -> None:
    """Orders list, and equal times line up, in the order of UTF-8 bytes."""
    event_id = f"e{next(events)}"
    for order_id in order_ids:
        store.accept(order_on(0, order_id, event_id=event_id))
    expected = sorted(order_ids, key=str.encode)

    assert [order.key.order_id for order in all_orders(store, 0, event_id=event_id, page=3)] == expected
    assert [hint.key.order_id for hint in all_due(store, 0, Lane.LINE, event_id=event_id, page=3)] == expected


@many_examples
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60), st.integers(0, 2**53))
def test_every_text_and_whole_number_comes_back(store: Store, text: str, number: int) -> None:
    """Emoji, combining signs, control characters and the largest whole number are stored as they are."""
    order = replace(order_on(0, f"order-{next(events)}", event_id="texts"), holder=text, failures=number)
    order = replace(order, buyer_id=text + "x")
    store.accept(order)

    assert stored(store, order) == order
