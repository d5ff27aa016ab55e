"""Statistics in a SQLite file."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from shared.domain.errors import Unavailable
from shared.domain.stats.mark import MAX_MARKS, Mark
from shared.domain.stats.states import EventStates
from shared.domain.stats.stream_shard import StreamShard
from shared.domain.stats.window import MINUTE_S, WindowKey, WindowStats, window_of
from shared.ports.system import Clock
from shared.stores.sqlite.connections import connect_beside
from shared.stores.sqlite.errors import translate
from shared.stores.stats_codec import (
    pack_counts,
    pack_numbers,
    pack_shard,
    pack_steps,
    unpack_counts,
    unpack_numbers,
    unpack_shard,
    unpack_steps,
)

FILE_NAME = "stats.db"
_STATES = "SELECT event_id, stream_shard, rev, upto, late, newest_ms, counts FROM states"
_COLUMNS = "stream_shard, length_s, start_ms, counts, upto, late, rev"


class SqliteStats:
    """Implements `StatsStore` over one file; safe to share between threads, and the file between processes."""

    def __init__(self, folder: Path | str | None, clock: Clock) -> None:
        """Open `stats.db` in `folder`, both made if absent; None keeps everything in memory, for one process."""
        path = None if folder is None else Path(folder) / FILE_NAME
        self.place = "The statistics in memory" if path is None else str(path)
        self._clock = clock
        self._turn = threading.Lock()
        self._closed = False
        with self._translated():
            self._connection = connect_beside(path, "stats.sql")

    def get_window(self, key: WindowKey) -> WindowStats | None:
        rows = self._run(
            f"SELECT {_COLUMNS} FROM windows WHERE length_s = ? AND start_ms = ? AND stream_shard = ?",  # noqa: S608 - a constant
            (key.length_s, key.start_ms, key.stream_shard),
        )
        return _read_window(rows[0]) if rows else None

    def save_window(self, window: WindowStats, *, seen_rev: int) -> bool:
        values = (window.rev, str(window.upto), pack_numbers(window.late), pack_counts(window.counts))
        key = (window.key.length_s, window.key.start_ms, window.key.stream_shard)
        if seen_rev:
            return self._changes(
                "UPDATE windows SET rev = ?, upto = ?, late = ?, counts = ?"
                " WHERE length_s = ? AND start_ms = ? AND stream_shard = ? AND rev = ?",
                (*values, *key, seen_rev),
            )
        created = self._changes(
            "INSERT INTO windows (rev, upto, late, counts, length_s, start_ms, stream_shard, expires_at_ms)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (*values, *key, window.key.expires_at_ms),
        )
        if created:
            self._run("DELETE FROM windows WHERE expires_at_ms <= ?", (self._clock.now_ms(),))
        return created

    def read_windows(self, length_s: int, *, since_ms: int, until_ms: int) -> tuple[WindowStats, ...]:
        rows = self._run(
            f"SELECT {_COLUMNS} FROM windows WHERE length_s = ? AND start_ms >= ? AND start_ms < ?"  # noqa: S608 - a constant
            " AND expires_at_ms > ? ORDER BY start_ms, stream_shard",
            (length_s, since_ms, until_ms, self._clock.now_ms()),
        )
        return tuple(_read_window(row) for row in rows)

    def get_stream_shard(self, name: str) -> StreamShard | None:
        rows = self._run("SELECT name, newest_ms, rev, refused FROM stream_shards WHERE name = ?", (name,))
        return unpack_shard(*rows[0]) if rows else None

    def save_stream_shard(self, stream_shard: StreamShard, *, seen_rev: int) -> bool:
        values = (stream_shard.newest_ms, stream_shard.rev, pack_shard(stream_shard), stream_shard.name)
        if seen_rev:
            return self._changes(
                "UPDATE stream_shards SET newest_ms = ?, rev = ?, refused = ? WHERE name = ? AND rev = ?",
                (*values, seen_rev),
            )
        return self._changes(
            "INSERT INTO stream_shards (newest_ms, rev, refused, name) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            values,
        )

    def list_stream_shards(self, *, since_ms: int) -> tuple[StreamShard, ...]:
        rows = self._run(
            "SELECT name, newest_ms, rev, refused FROM stream_shards WHERE newest_ms >= ? ORDER BY name",
            (window_of("", MINUTE_S, since_ms).start_ms,),
        )
        return tuple(unpack_shard(*row) for row in rows)

    def get_states(self, event_id: str, stream_shard: str) -> EventStates | None:
        rows = self._run(f"{_STATES} WHERE event_id = ? AND stream_shard = ?", (event_id, stream_shard))
        return _read_states(rows[0]) if rows else None

    def save_states(self, states: EventStates, *, seen_rev: int) -> bool:
        values = (
            states.rev,
            str(states.upto),
            pack_numbers(states.late),
            states.newest_ms,
            pack_steps(states.counts),
            states.event_id,
            states.stream_shard,
        )
        if seen_rev:
            return self._changes(
                "UPDATE states SET rev = ?, upto = ?, late = ?, newest_ms = ?, counts = ?"
                " WHERE event_id = ? AND stream_shard = ? AND rev = ?",
                (*values, seen_rev),
            )
        return self._changes(
            "INSERT INTO states (rev, upto, late, newest_ms, counts, event_id, stream_shard)"
            " VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            values,
        )

    def list_states(self, event_id: str) -> tuple[EventStates, ...]:
        rows = self._run(f"{_STATES} WHERE event_id = ? ORDER BY stream_shard", (event_id,))
        return tuple(_read_states(row) for row in rows)

    def mark_buyers(self, marks: Sequence[Mark]) -> None:
        with self._translated(), self._turn:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.execute("DELETE FROM marks WHERE until_ms <= ?", (self._clock.now_ms(),))
                self._connection.executemany(
                    "INSERT OR REPLACE INTO marks (buyer_id, orders_per_s, until_ms) VALUES (?, ?, ?)",
                    [(mark.buyer_id, mark.orders_per_s, mark.until_ms) for mark in marks],
                )
                self._connection.execute("COMMIT")
            except sqlite3.Error:
                self._connection.execute("ROLLBACK")
                raise

    def list_marks(self, *, now_ms: int) -> tuple[Mark, ...]:
        rows = self._run(
            "SELECT buyer_id, orders_per_s, until_ms FROM marks WHERE until_ms > ? ORDER BY buyer_id LIMIT ?",
            (now_ms, MAX_MARKS),
        )
        return tuple(Mark(*row) for row in rows)

    def close(self) -> None:
        with self._turn:
            self._closed = True
            self._connection.close()

    def _run(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        with self._translated(), self._turn:
            return self._connection.execute(statement, values).fetchall()

    def _changes(self, statement: str, values: tuple[Any, ...]) -> bool:
        with self._translated(), self._turn:
            return self._connection.execute(statement, values).rowcount == 1

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        if self._closed:
            raise Unavailable(f"{self.place} were closed; open them again.")
        try:
            yield
        except sqlite3.Error as error:
            raise translate(error, self.place) from error
        except OSError as error:
            raise Unavailable(f"{self.place} cannot be opened ({error.strerror}); set ONSALE_DATA_DIR.") from error


def _read_window(row: Any) -> WindowStats:  # noqa: ANN401 - a row of _COLUMNS
    stream_shard, length_s, start_ms, counts, upto, late, rev = row
    return WindowStats(
        key=WindowKey(stream_shard, length_s, start_ms),
        counts=unpack_counts(counts),
        upto=int(upto),
        late=unpack_numbers(late),
        rev=rev,
    )


def _read_states(row: Any) -> EventStates:  # noqa: ANN401 - a row of _STATES
    event_id, stream_shard, rev, upto, late, newest_ms, counts = row
    return EventStates(
        event_id=event_id,
        stream_shard=stream_shard,
        counts=unpack_steps(counts),
        newest_ms=newest_ms,
        upto=int(upto),
        late=unpack_numbers(late),
        rev=rev,
    )
