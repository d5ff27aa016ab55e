"""The books: one SQLite file, every write durable before it is answered.

`Books` is one connection's view. Writes are called only inside the writer's transaction (see `writer`).
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from infra.local.payment_service.records import Charge, Event, Intent, Refund
from infra.local.payment_service.rows import (
    charge_row,
    insert_sql,
    intent_row,
    refund_row,
    to_charge,
    to_event,
    to_intent,
    to_refund,
    update_sql,
)

SCHEMA = Path(__file__).with_name("schema.sql")
BUSY_TIMEOUT_S = 5.0


def create(path: Path) -> None:
    """Make the file and its tables; raises `sqlite3.Error` when it cannot be written or is something else."""
    with closing(connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(SCHEMA.read_text(encoding="utf-8"))


def connect(path: Path) -> sqlite3.Connection:
    """A connection in autocommit whose commits are on the disk when they return."""
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA synchronous = FULL")
    return connection


class Books:
    """Intents, charges, refunds and events by id."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.told: list[Event] = []

    def intent(self, intent_id: str) -> Intent | None:
        """The intent with that id."""
        row = self.connection.execute("SELECT * FROM intents WHERE id = ?", (intent_id,)).fetchone()
        return to_intent(row) if row else None

    def charge(self, charge_id: str) -> Charge | None:
        """The charge with that id."""
        row = self.connection.execute("SELECT * FROM charges WHERE id = ?", (charge_id,)).fetchone()
        return to_charge(row) if row else None

    def captured_charge(self, intent_id: str) -> Charge | None:
        """The one charge of the intent that succeeded."""
        row = self.connection.execute(
            "SELECT * FROM charges WHERE intent_id = ? AND status = 'succeeded'", (intent_id,)
        ).fetchone()
        return to_charge(row) if row else None

    def refund(self, refund_id: str) -> Refund | None:
        """The refund with that id."""
        row = self.connection.execute("SELECT * FROM refunds WHERE id = ?", (refund_id,)).fetchone()
        return to_refund(row) if row else None

    def event(self, event_id: str) -> Event | None:
        """The event with that id."""
        row = self.connection.execute("SELECT * FROM events WHERE id = ?", (event_id,)).fetchone()
        return to_event(row) if row else None

    def add_intent(self, intent: Intent) -> None:
        """Write a new intent and what it is searched by."""
        row = intent_row(intent)
        del row["seq"]
        seq = self.connection.execute(insert_sql("intents", row), row).lastrowid
        self.connection.executemany(
            "INSERT INTO intent_metadata (key, value, intent_seq) VALUES (?, ?, ?)",
            [(key, value, seq) for key, value in intent.metadata.items()],
        )

    def save_intent(self, intent: Intent) -> None:
        """Overwrite an intent; its metadata never changes."""
        row = intent_row(intent)
        self.connection.execute(update_sql("intents", row), row)

    def save_charge(self, charge: Charge) -> None:
        """Write a new charge, or the new state of a pending one."""
        row = charge_row(charge)
        if self.connection.execute(update_sql("charges", row), row).rowcount == 0:
            self.connection.execute(insert_sql("charges", row), row)

    def add_refund(self, refund: Refund) -> None:
        """Write a new refund."""
        row = refund_row(refund)
        self.connection.execute(insert_sql("refunds", row), row)

    def tell(self, event: Event) -> None:
        """Write an event; it is handed to the delivery once this transaction is committed."""
        cursor = self.connection.execute(
            "INSERT INTO events (id, type, intent_id, subject, created_at_ms, payload) VALUES (?, ?, ?, ?, ?, ?)",
            (event.id, event.type, event.intent_id, event.subject, event.created_at_ms, event.payload),
        )
        self.told.append(
            Event(
                event.id,
                event.type,
                event.intent_id,
                event.subject,
                event.created_at_ms,
                event.payload,
                seq=cursor.lastrowid or 0,
            )
        )

    def mark_event(self, event_id: str, delivery: str, tries: int) -> None:
        """Note how far the delivery of an event has come."""
        self.connection.execute("UPDATE events SET delivery = ?, tries = ? WHERE id = ?", (delivery, tries, event_id))

    def pending_events(self, limit: int) -> list[Event]:
        """Events still to be delivered, oldest first."""
        rows = self.connection.execute(
            "SELECT * FROM events WHERE delivery = 'pending' ORDER BY seq LIMIT ?", (limit,)
        ).fetchall()
        return [to_event(row) for row in rows]

    def next_settlement(self) -> tuple[int, str] | None:
        """When the next processing intent is to be settled (ms), and its id."""
        row = self.connection.execute(
            "SELECT settle_at_ms, id FROM intents WHERE settle_at_ms IS NOT NULL ORDER BY settle_at_ms LIMIT 1"
        ).fetchone()
        return (row["settle_at_ms"], row["id"]) if row else None
