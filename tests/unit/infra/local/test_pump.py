"""The pump hands every record over at least once, in order, and gives up none silently."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from infra.local.pump import MARK_EVERY_S, MAX_TRIES, Marking, Pump
from shared.domain.errors import Unavailable
from shared.ports.changes import StreamPage
from tests.fakes.system import FakeClock
from tests.unit.stream.records import FIRST, make_record


def record(number: int) -> dict[str, Any]:
    """Make the stream record with that sequence number."""
    return {"eventID": f"e{number}", "dynamodb": {"SequenceNumber": str(number)}}


class FakeLog:
    """A change log in lists; a cursor counts the records read."""

    def __init__(self, shards: dict[str, list[dict[str, Any]]], ended: tuple[str, ...] = ()) -> None:
        self.shards = shards
        self.ended = ended

    def stream_shards(self) -> tuple[str, ...]:
        return tuple(self.shards)

    def read_changes(self, stream_shard: str, *, cursor: str | None, limit: int) -> StreamPage:
        at = int(cursor or 0)
        records = tuple(self.shards[stream_shard][at : at + limit])
        end = at + len(records)
        over = stream_shard in self.ended and end == len(self.shards[stream_shard])
        return StreamPage(records, None if over else str(end))


class Handler:
    """A stream handler that fails on the numbers it is given, and remembers what it was handed."""

    def __init__(self) -> None:
        self.batches: list[tuple[str, list[int]]] = []
        self.failing: set[int] = set()
        self.explodes = False
        self.down = False

    def __call__(self, event: Mapping[str, Any], context: object) -> dict[str, Any]:
        if self.explodes:
            raise RuntimeError("the program is wrong")
        if self.down:
            raise Unavailable
        numbers = [int(one["dynamodb"]["SequenceNumber"]) for one in event["Records"]]
        self.batches.append((event["shardId"], numbers))
        failed = [number for number in numbers if number in self.failing]
        return {"batchItemFailures": [{"itemIdentifier": str(number)} for number in failed]}


@pytest.fixture
def clock() -> FakeClock:
    """Time that moves when told."""
    return FakeClock()


@pytest.fixture
def handler() -> Handler:
    """A handler that takes everything."""
    return Handler()


def make_pump(tmp_path: Path, log: FakeLog, handler: Handler, clock: FakeClock) -> Pump:
    """Make a pump, as a process would when it starts."""
    return Pump(
        log, handler, cursors=tmp_path / "c.json", failed=tmp_path / "failed.jsonl", monotonic_s=clock.monotonic_s
    )


def test_every_stream_shard_is_handed_over_with_its_name(tmp_path: Path, handler: Handler, clock: FakeClock) -> None:
    """A batch comes from one stream shard and says from which."""
    pump = make_pump(tmp_path, FakeLog({"a": [record(1), record(2)], "b": [record(3)]}), handler, clock)

    assert pump.step() == 3
    assert pump.step() == 0
    assert handler.batches == [("a", [1, 2]), ("b", [3])]


def test_a_pump_that_starts_again_goes_on_where_it_was(tmp_path: Path, handler: Handler, clock: FakeClock) -> None:
    """The cursors outlive the process; what is new since comes, and nothing else."""
    log = FakeLog({"a": [record(1)]})
    make_pump(tmp_path, log, handler, clock).step()
    log.shards["a"].append(record(2))

    make_pump(tmp_path, log, handler, clock).step()

    assert handler.batches == [("a", [1]), ("a", [2])]


def test_from_the_lowest_failed_record_on_everything_comes_again(
    tmp_path: Path, handler: Handler, clock: FakeClock
) -> None:
    """Records before the failed one are done; it and all behind it are handed over again, after a wait."""
    pump = make_pump(tmp_path, FakeLog({"a": [record(n) for n in (1, 2, 3, 4)]}), handler, clock)
    handler.failing = {3, 4}

    assert pump.step() == 2
    assert pump.step() == 0, "it waits before it tries again"
    handler.failing = set()
    clock.advance(1)
    assert pump.step() == 2
    assert handler.batches == [("a", [1, 2, 3, 4]), ("a", [3, 4])]


def test_a_failing_stream_shard_does_not_hold_up_the_others(tmp_path: Path, handler: Handler, clock: FakeClock) -> None:
    """One poisoned stream shard waits alone."""
    log = FakeLog({"a": [record(1)], "b": [record(2)]})
    pump = make_pump(tmp_path, log, handler, clock)
    handler.failing = {1}
    pump.step()
    log.shards["b"].append(record(3))

    pump.step()

    assert [batch for batch in handler.batches if batch[0] == "b"] == [("b", [2]), ("b", [3])]


def test_a_record_that_always_fails_is_set_aside_with_its_text(
    tmp_path: Path, handler: Handler, clock: FakeClock
) -> None:
    """After its limit the record is in the file of failed ones, and those behind it are handed over."""
    pump = make_pump(tmp_path, FakeLog({"a": [record(1), record(2), record(3)]}), handler, clock)
    handler.failing = {1}

    for _ in range(MAX_TRIES + 1):
        pump.step()
        clock.advance(60)

    aside = [json.loads(line) for line in (tmp_path / "failed.jsonl").read_text().splitlines()]
    assert aside == [{"shardId": "a", "record": record(1)}]
    assert handler.batches[-2:] == [("a", [2]), ("a", [3])]


def test_while_every_record_fails_none_is_given_up(tmp_path: Path, handler: Handler, clock: FakeClock) -> None:
    """A back end that is down for an hour costs time, not records."""
    pump = make_pump(tmp_path, FakeLog({"a": [record(1), record(2)]}), handler, clock)
    handler.failing = {1, 2}
    for _ in range(10 * MAX_TRIES):
        pump.step()
        clock.advance(60)

    handler.failing = set()
    pump.step()

    assert not (tmp_path / "failed.jsonl").exists()
    assert handler.batches[-1] == ("a", [1, 2])


def test_a_handler_that_raises_gets_the_whole_batch_again(tmp_path: Path, handler: Handler, clock: FakeClock) -> None:
    """An error of the handler loses nothing and moves no cursor."""
    pump = make_pump(tmp_path, FakeLog({"a": [record(1), record(2)]}), handler, clock)
    handler.explodes = True
    assert pump.step() == 0

    handler.explodes = False
    clock.advance(60)
    assert pump.step() == 2


def test_an_ended_stream_shard_is_not_read_again(tmp_path: Path, handler: Handler, clock: FakeClock) -> None:
    """Once a split stream shard is worked off it stays so, over restarts too."""
    log = FakeLog({"a": [record(1)]}, ended=("a",))
    make_pump(tmp_path, log, handler, clock).step()

    assert make_pump(tmp_path, log, handler, clock).step() == 0
    assert handler.batches == [("a", [1])]


def test_the_pump_waits_for_statistics_that_do_not_answer(tmp_path: Path, handler: Handler, clock: FakeClock) -> None:
    """However long they are away: good records that are handed back are never given up."""
    records = [make_record(1), make_record(2)]
    pump = make_pump(tmp_path, FakeLog({"a": records}), handler, clock)
    handler.failing = {FIRST + 1, FIRST + 2}
    for _ in range(5 * MAX_TRIES):
        pump.step()
        clock.advance(60)

    handler.failing = set()
    assert pump.step() == 2
    assert not (tmp_path / "failed.jsonl").exists()


def test_a_handler_that_is_cut_off_is_waited_for(tmp_path: Path, handler: Handler, clock: FakeClock) -> None:
    """Also when nothing in the batch can be read: not even that could be noted."""
    pump = make_pump(tmp_path, FakeLog({"a": [record(1)]}), handler, clock)
    handler.down = True
    for _ in range(5 * MAX_TRIES):
        pump.step()
        clock.advance(60)
    assert not (tmp_path / "failed.jsonl").exists()

    handler.down = False
    assert pump.step() == 1


def test_an_unreadable_record_is_given_up_among_good_ones_once_statistics_answer(
    tmp_path: Path, handler: Handler, clock: FakeClock
) -> None:
    """While a good one comes back with it, the time is not held against it."""
    pump = make_pump(tmp_path, FakeLog({"a": [record(1), make_record(2)]}), handler, clock)
    handler.failing = {1, FIRST + 2}
    for _ in range(5 * MAX_TRIES):
        pump.step()
        clock.advance(60)
    assert not (tmp_path / "failed.jsonl").exists()

    handler.failing = {1}
    for _ in range(2):
        pump.step()
        clock.advance(60)
    assert json.loads((tmp_path / "failed.jsonl").read_text())["record"] == record(1)


def test_buyers_are_marked_regularly(clock: FakeClock) -> None:
    """Once in a while, whether or not the statistics answer."""
    calls: list[float] = []

    def mark() -> None:
        calls.append(clock.monotonic_s())
        if len(calls) == 1:
            raise Unavailable

    marking = Marking(mark, clock.monotonic_s)
    for _ in range(40):
        marking.step()
        clock.advance(MARK_EVERY_S / 10)

    assert [round(later - earlier, 3) for earlier, later in pairwise(calls)] == [MARK_EVERY_S] * 3
