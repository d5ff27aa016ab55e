"""The change pump of one machine: what the event source mapping between a stream and a Lambda function is on AWS.

`python -m infra.local.pump` reads the store's change log, every stream shard from where it left off, and hands batches
to the very handler that AWS calls, in the same shape, honouring `batchItemFailures`. Source: "Using AWS Lambda with
Amazon DynamoDB" (batches, partial failures, tumbling windows).
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from consumers.stream.handler import handler
from consumers.stream.mark_bots import handler as mark_handler
from consumers.stream.parts import Parts, open_parts
from infra.local.metric_files import MetricFile
from infra.local.parts import open_change_log
from shared.domain.errors import OnsaleError, Unavailable
from shared.ports.changes import ChangeLog, StreamRecord
from shared.settings import read_settings

BATCH = 500
IDLE_S = 0.1
# A record that has failed this often, while the one behind it does not, is written to the file of failed ones and
# passed, as the mapping's limits on AWS do. While everything fails the back end is down, and nothing is passed.
MAX_TRIES = 10
FIRST_WAIT_S = 0.1
LONGEST_WAIT_S = 5.0
# The pace of a minute is looked at more often than once a minute.
MARK_EVERY_S = 10.0
ENDED = "ended"
# This process's name among those that count.
PROCESS = "change-pump"

Handler = Callable[[Mapping[str, Any], Any], Mapping[str, Any] | None]


@dataclass(slots=True)
class Lane:
    """How far one stream shard has come: its cursor, and what of the last page is still to be handed over."""

    name: str
    cursor: str | None = None
    following: str | None = None
    pending: list[StreamRecord] = field(default_factory=list)
    tries: int = 0
    not_before_s: float = 0.0
    ended: bool = False


class Pump:
    """Moves records from a change log to a handler, at least once each, in order within a stream shard.

    `cursors` and `failed` are files: where each stream shard has come to, and the records that were given up. A record
    is given up only when the one behind it passes; while everything fails, what the handler writes to is unavailable,
    and the pump waits for it however long that takes.
    """

    def __init__(
        self,
        log: ChangeLog,
        handler: Handler,
        *,
        cursors: Path,
        failed: Path,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._log = log
        self._handler = handler
        self._cursors = cursors
        self._failed = failed
        self._monotonic_s = monotonic_s
        self._lanes: dict[str, Lane] = {}
        self._saved: dict[str, str] = json.loads(cursors.read_text()) if cursors.exists() else {}

    def step(self) -> int:
        """Give every stream shard one turn; return how many records were handed over."""
        moved = 0
        for name in self._log.stream_shards():
            lane = self._lanes.setdefault(name, self._resume(name))
            if not lane.ended and self._monotonic_s() >= lane.not_before_s:
                moved += self._turn(lane)
        self._save()
        return moved

    def _resume(self, name: str) -> Lane:
        cursor = self._saved.get(name)
        return Lane(name, ended=True) if cursor == ENDED else Lane(name, cursor=cursor)

    def _turn(self, lane: Lane) -> int:
        if not lane.pending:
            page = self._log.read_changes(lane.name, cursor=lane.cursor, limit=BATCH)
            lane.pending, lane.following = list(page.records), page.cursor
        before = len(lane.pending)
        if lane.pending:
            self._hand_over(lane)
        if not lane.pending:
            lane.cursor, lane.ended, lane.tries = lane.following, lane.following is None, 0
        return before - len(lane.pending)

    def _hand_over(self, lane: Lane) -> None:
        """Call the handler; from the lowest failed record on everything comes again."""
        done = self._call(lane.name, lane.pending)
        if done > 0:
            lane.tries = 0
        lane.pending = lane.pending[done:]
        if lane.pending:
            self._put_off(lane)

    def _call(self, name: str, records: list[StreamRecord]) -> int:
        """Hand records over; return how many, from the first on, are done."""
        try:
            answer = self._handler({"Records": records, "shardId": name, "state": {}}, None) or {}
        except Exception as error:  # noqa: BLE001 - whatever the handler raises, the whole batch comes again
            _say(f"The stream handler failed: {error!r}.")
            return 0
        failures = [failure["itemIdentifier"] for failure in answer.get("batchItemFailures", ())]
        return _lowest(records, failures)

    def _put_off(self, lane: Lane) -> None:
        lane.tries += 1
        poison, behind = lane.pending[0], lane.pending[1:2]
        if lane.tries >= MAX_TRIES and behind and self._call(lane.name, behind):
            with self._failed.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"shardId": lane.name, "record": poison}, default=str) + "\n")
            _say(f"A record of {lane.name} failed {MAX_TRIES} times; it was set aside in {self._failed}.")
            lane.pending, lane.tries = lane.pending[2:], 0
        wait_s = min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(lane.tries, MAX_TRIES))
        lane.not_before_s = self._monotonic_s() + wait_s

    def _save(self) -> None:
        """Keep the cursors; what was handed over since the last save may come again after a crash."""
        cursors = {
            lane.name: ENDED if lane.ended else lane.cursor
            for lane in self._lanes.values()
            if lane.ended or lane.cursor
        }
        if cursors != self._saved:
            beside = self._cursors.with_suffix(".new")
            beside.write_text(json.dumps(cursors))
            beside.replace(self._cursors)
            self._saved = {name: cursor for name, cursor in cursors.items() if cursor is not None}


def _lowest(records: list[StreamRecord], failures: list[str | None]) -> int:
    """Return the index of the first record that failed; an unknown or empty name means the whole batch."""
    if not failures:
        return len(records)
    numbers = [record.get("dynamodb", {}).get("SequenceNumber") for record in records]
    return min(numbers.index(failure) if failure in numbers else 0 for failure in failures)


def _say(sentence: str) -> None:
    sys.stderr.write(sentence + "\n")
    sys.stderr.flush()


@dataclass(slots=True)
class Marking:
    """Has buyers who order like programs marked, now and then, as a schedule does on AWS."""

    mark: Callable[[], object]
    monotonic_s: Callable[[], float] = time.monotonic
    _next_s: float = 0.0

    def step(self) -> None:
        """Mark if it is time to; statistics that do not answer are asked again next time."""
        now_s = self.monotonic_s()
        if now_s < self._next_s:
            return
        self._next_s = now_s + MARK_EVERY_S
        try:
            self.mark()
        except Unavailable as error:
            _say(error.message)


def main() -> None:
    """Pump until told to stop."""
    settings = read_settings()
    folder = Path(settings.data_dir)
    stopping: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, _frame: stopping.append(got))
    pump = Pump(
        open_change_log(settings),
        handler,
        cursors=folder / "pump.json",
        failed=folder / "failed-records.jsonl",
    )
    sys.stdout.write(json.dumps({"pid": os.getpid()}) + "\n")
    sys.stdout.flush()
    parts = _parts_when_there(stopping)
    if parts is None:
        return
    counts = MetricFile(settings.data_dir, PROCESS, parts.watch, parts.clock)
    counts.start()
    marking = Marking(lambda: mark_handler({}, None))
    while not stopping:
        try:
            moved = pump.step()
        except Unavailable as error:
            _say(error.message)
            moved = 0
        marking.step()
        if not moved:
            time.sleep(IDLE_S)
    counts.close()


def _parts_when_there(stopping: list[int]) -> Parts | None:
    """Open the statistics, however long they are away; None when told to stop meanwhile."""
    while not stopping:
        try:
            # The logger keeps the stream it finds; standard output belongs to the one line that programs read.
            with contextlib.redirect_stdout(sys.stderr):
                return open_parts()
        except Unavailable as error:
            _say(error.message)
            time.sleep(FIRST_WAIT_S)
    return None


if __name__ == "__main__":
    try:
        main()
    except OnsaleError as error:
        _say(error.message)
        sys.exit(5 if isinstance(error, Unavailable) else 2)
