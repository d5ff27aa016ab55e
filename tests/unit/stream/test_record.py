"""Reading one stream record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from consumers.stream.record import Change, Unreadable, read_record, sequence_of
from shared.domain.order import Duty, Parked, Status
from shared.stores.wire import to_wire
from tests.builders import make_order
from tests.unit.stream.records import FIRST, make_record

QUEUED = make_order(1)


def test_an_arrival() -> None:
    """A new order is an arrival under its key, event and buyer, and joins the line."""
    assert read_record(make_record(7, new=QUEUED, at_ms=12_345)) == Change(
        sequence=FIRST + 7,
        at_ms=12_345,
        key="gig#1",
        event_id="gig",
        shard=1,
        buyer_id="ann",
        before="new",
        after="queued",
        depth=1,
        parked=0,
    )


@pytest.mark.parametrize(
    ("old", "new", "step", "depth"),
    [
        (QUEUED, replace(QUEUED, status=Status.HELD, duties={Duty.PAY: 5}), ("queued", "held"), -1),
        (QUEUED, replace(QUEUED, parked=Parked(5, "why", "line")), ("queued", "queued"), -1),
        (replace(QUEUED, duties={Duty.REJOIN: 5}), QUEUED, ("queued", "queued"), 1),
        (QUEUED, None, ("queued", "removed"), -1),
        (replace(QUEUED, status=Status.HELD), replace(QUEUED, status=Status.CONFIRMED), ("held", "confirmed"), 0),
    ],
)
def test_a_step(old: Any, new: Any, step: tuple[str, str], depth: int) -> None:  # noqa: ANN401 - orders or None
    """A step is read with both statuses, and with what it does to the length of the line."""
    change = read_record(make_record(1, old, new))

    assert (change.before, change.after) == step
    assert change.depth == depth
    assert change.parked == (new is not None and new.parked is not None)
    assert not change.arrived


def test_an_item_that_is_no_order() -> None:
    """Anything else in the table is a write to its key and nothing more."""
    record = make_record(1)
    record["dynamodb"]["NewImage"] = to_wire({"pk": "orphans", "sk": "pi_1"})
    record["dynamodb"]["Keys"] = to_wire({"pk": "orphans", "sk": "pi_1"})
    change = read_record(record)

    assert (change.key, change.event_id, change.buyer_id, change.before) == ("orphans", None, None, None)
    assert not change.arrived


def test_an_order_that_replaces_a_tombstone_arrives() -> None:
    """An order that is put where something else stood is new all the same."""
    record = make_record(1, QUEUED, QUEUED)
    record["dynamodb"]["OldImage"] = to_wire({"pk": "gig#1", "sk": QUEUED.key.order_id, "home": "gig#9"})

    assert read_record(record).arrived


def test_a_name_of_any_length_stays_bounded() -> None:
    """A key as long as the store allows stands shortened, and two long ones stay apart."""
    names = []
    for end in "ab":
        record = make_record(1)
        record["dynamodb"]["Keys"]["pk"] = {"S": "k" * 2_000 + end}
        names.append(read_record(record).key)

    assert names[0] != names[1]
    assert all(len(name) < 200 for name in names)


SPOILERS: dict[str, Callable[[dict[str, Any]], object]] = {
    "no event name": lambda record: record.pop("eventName"),
    "unknown event name": lambda record: record.update(eventName="UPSERT"),
    "no keys": lambda record: record["dynamodb"].pop("Keys"),
    "untyped key": lambda record: record["dynamodb"].update(Keys={"pk": "gig#1", "sk": "x"}),
    "empty key": lambda record: record["dynamodb"]["Keys"].update(pk={"S": ""}),
    "number as key": lambda record: record["dynamodb"]["Keys"].update(pk={"S": 5}),
    "no image": lambda record: record["dynamodb"].pop("NewImage"),
    "image of another kind": lambda record: record["dynamodb"].update(NewImage=[]),
    "unknown status": lambda record: record["dynamodb"]["NewImage"].update(status={"S": "lost"}),
    "status as number": lambda record: record["dynamodb"]["NewImage"].update(status={"N": "1"}),
    "no buyer": lambda record: record["dynamodb"]["NewImage"].pop("buyer"),
    "no time": lambda record: record["dynamodb"].pop("ApproximateCreationDateTime"),
    "time as text": lambda record: record["dynamodb"].update(ApproximateCreationDateTime="now"),
    "time as truth": lambda record: record["dynamodb"].update(ApproximateCreationDateTime=True),
    "no finite time": lambda record: record["dynamodb"].update(ApproximateCreationDateTime=float("inf")),
    "time without a value": lambda record: record["dynamodb"].update(ApproximateCreationDateTime=float("nan")),
    "time before 1970": lambda record: record["dynamodb"].update(ApproximateCreationDateTime=-1),
    "time after 2286": lambda record: record["dynamodb"].update(ApproximateCreationDateTime=1e400),
}


@pytest.mark.parametrize("spoiler", SPOILERS.values(), ids=SPOILERS.keys())
def test_a_malformed_record_is_unreadable(spoiler: Callable[[dict[str, Any]], object]) -> None:
    """Whatever part is missing or of another kind, the answer is Unreadable, and shows nothing that was stored."""
    record = make_record(1, new=make_order(1, buyer="secret-buyer"))
    spoiler(record)

    with pytest.raises(Unreadable) as caught:
        read_record(record)
    assert "secret-buyer" not in caught.value.message
    assert sequence_of(record) == str(FIRST + 1)


@pytest.mark.parametrize("text", ["", "12a", "-1", "1.0", " 1", "1\n", "٣", "9" * 41, 5, None])
def test_what_is_not_a_sequence_number(text: object) -> None:
    """Only 1 to 40 ASCII digits can be reported back."""
    assert sequence_of({"dynamodb": {"SequenceNumber": text}}) is None
