"""The keys and items of the inventory table, and the actions that move seats between them.

Every pool, every slice and every buyer's counter is a partition of its own, so that none slows down another. Ids of
events and pools contain neither `#` nor `/` (checked where a sale is defined), so no buyer's id can forge a key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.domain.inventory import PoolState, SliceState, opening_counts
from shared.stores.dynamo.expressions import Body, check, put, update

if TYPE_CHECKING:
    from collections.abc import Mapping

    from shared.domain.pool_change import PoolChange
    from shared.domain.sale import Pool
    from shared.stores.wire import Item


def pool_key(event_id: str, pool_id: str) -> Item:
    """Return the key of a pool."""
    return {"pk": f"{event_id}#{pool_id}"}


def slice_key(event_id: str, pool_id: str, slice_no: int) -> Item:
    """Return the key of one slice of a pool."""
    return {"pk": f"{event_id}#{pool_id}#{slice_no}"}


def buyer_key(event_id: str, buyer_id: str) -> Item:
    """Return the key of a buyer's counter."""
    return {"pk": f"{event_id}#buyer/{buyer_id}"}


def opening(table: str, event_id: str, pool: Pool) -> list[Body]:
    """Create a pool with its slices, unless they stand."""
    unassigned, unsold = opening_counts(pool.capacity, pool.slices)
    pool_item = {
        **pool_key(event_id, pool.pool_id),
        "capacity": pool.capacity,
        "unassigned": unassigned,
        "withheld": 0,
        "round": 0,
        "sold_out": 0,
        "version": 1,
    }
    slices = [
        {**slice_key(event_id, pool.pool_id, slice_no), "unsold": seats, "taken": 0, "version": 1}
        for slice_no, seats in enumerate(unsold)
    ]
    return [{"Put": put(table, item, "attribute_not_exists(#pk)")} for item in (pool_item, *slices)]


def pool_items(event_id: str, state: PoolState) -> list[Item]:
    """Write a pool and its slices as they were counted; the opposite of `read_pool`."""
    pool = {
        **pool_key(event_id, state.pool_id),
        "capacity": state.capacity,
        "unassigned": state.unassigned,
        "withheld": state.withheld,
        "round": state.round,
        "sold_out": int(state.sold_out),
        "version": state.version,
    }
    slices = [
        {
            **slice_key(event_id, state.pool_id, part.slice_no),
            "unsold": part.unsold,
            "taken": part.taken,
            "version": part.version,
        }
        for part in state.slices
    ]
    return [pool, *slices]


def read_pool(event_id: str, pool: Pool, items: Mapping[str, Item]) -> PoolState:
    """Join a pool's items, by key; KeyError when one is missing."""
    item = items[pool_key(event_id, pool.pool_id)["pk"]]
    slices = [(slice_no, items[slice_key(event_id, pool.pool_id, slice_no)["pk"]]) for slice_no in range(pool.slices)]
    return PoolState(
        pool_id=pool.pool_id,
        capacity=item["capacity"],
        unassigned=item["unassigned"],
        withheld=item["withheld"],
        round=item["round"],
        sold_out=bool(item["sold_out"]),
        version=item["version"],
        slices=tuple(SliceState(n, part["unsold"], part["taken"], part["version"]) for n, part in slices),
    )


def take(table: str, key: Item, seats: int) -> Body:
    """Allocate seats of a slice, if it has as many unsold."""
    change = "SET #unsold = #unsold - :n, #taken = #taken + :n, #version = #version + :one"
    return {"Update": update(table, key, change, "#unsold >= :n", {"n": seats, "one": 1})}


def untake(table: str, key: Item, seats: int, *, withhold: bool) -> Body:
    """Give allocated seats back to their slice, or take them out of it to be withheld."""
    values = {"n": seats, "one": 1}
    change = "SET #taken = #taken - :n, #version = #version + :one"
    if not withhold:
        change += ", #unsold = #unsold + :n"
    return {"Update": update(table, key, change, "#taken >= :n", values)}


def withhold_in(table: str, key: Item, seats: int) -> Body:
    """Count seats of a pool as given back and not to be sold again."""
    change = "SET #withheld = #withheld + :n, #version = #version + :one"
    return {"Update": update(table, key, change, "attribute_exists(#pk)", {"n": seats, "one": 1})}


def move(table: str, key: Item, counter: str, seats: int) -> Body:
    """Add seats (negative: take away, if there are as many) to `unassigned` of a pool or `unsold` of a slice."""
    change = f"SET #{counter} = #{counter} + :n, #version = #version + :one"
    condition = f"#{counter} >= :least"
    return {"Update": update(table, key, change, condition, {"n": seats, "one": 1, "least": max(0, -seats)})}


def change(table: str, key: Item, change: PoolChange) -> Body:
    """Change a pool's own figures, if they are still those that were seen."""
    text = (
        "SET #capacity = #capacity + :capacity, #unassigned = #unassigned + :unassigned,"
        " #withheld = #withheld + :withheld, #version = #version + :one"
    )
    condition = "#capacity = :seen_capacity AND #withheld = :seen_withheld AND #unassigned >= :least"
    values = {
        "capacity": change.capacity,
        "unassigned": change.unassigned,
        "withheld": change.withheld,
        "one": 1,
        "seen_capacity": change.seen_capacity,
        "seen_withheld": change.seen_withheld,
        "least": max(0, -change.unassigned),
    }
    return {"Update": update(table, key, text, condition, values)}


def count_up(table: str, key: Item, quantity: int, most: int) -> Body:
    """Raise a buyer's counter by `quantity`, at most to `most`."""
    change = "SET #taken = if_not_exists(#taken, :none) + :n"
    values = {"n": quantity, "none": 0, "room": most - quantity}
    # A counter that is not there yet stands at 0.
    condition = "attribute_not_exists(#taken) OR #taken <= :room" if quantity <= most else "#taken <= :room"
    return {"Update": update(table, key, change, condition, values)}


def count_down(table: str, key: Item, quantity: int) -> Body:
    """Lower a buyer's counter."""
    return {"Update": update(table, key, "SET #taken = #taken - :n", "#taken >= :n", {"n": quantity})}


def mark_sold_out(table: str, key: Item, seen_round: int, op: str) -> Body:
    """Raise a pool's round and set the mark, if nothing is unassigned; `round_op` names whose decision it was."""
    change = "SET #round = #round + :one, #sold_out = :one, #version = #version + :one, #round_op = :op"
    condition = "#round = :seen AND #sold_out = :none AND #unassigned = :none"
    values = {"one": 1, "none": 0, "seen": seen_round, "op": op}
    return {"Update": update(table, key, change, condition, values)}


def has_no_unsold(table: str, key: Item) -> Body:
    """Hold the transaction to a slice without unsold seats."""
    return {"ConditionCheck": check(table, key, "#unsold = :none", {"none": 0})}


def unmark_sold_out(table: str, key: Item, seen_round: int, op: str) -> Body:
    """Take the mark off while the round is still the one that was seen."""
    change = "SET #sold_out = :none, #version = #version + :one, #round_op = :op"
    values = {"one": 1, "none": 0, "seen": seen_round, "op": op}
    return {"Update": update(table, key, change, "#round = :seen AND #sold_out = :one", values)}
