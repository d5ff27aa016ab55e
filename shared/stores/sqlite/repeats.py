"""Operations on counters are remembered for a while, so that a call repeated after a lost answer counts once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

# Longer than any caller repeats; DynamoDB keeps a transaction's client token for ten minutes.
REMEMBERED_MS = 15 * 60 * 1000
# Forgotten with each new one: two for one, so that the table shrinks after a rush.
_FORGET = "DELETE FROM done WHERE id IN (SELECT id FROM done ORDER BY id LIMIT 2) AND at_ms < ?"


def once(connection: sqlite3.Connection, op: str, at_ms: int, action: Callable[[], bool]) -> bool:
    """Carry out `action` unless `op` was done before; True when it is done now.

    An action that answers False changed nothing and is not remembered.
    """
    if connection.execute("SELECT 1 FROM done WHERE op = ?", (op,)).fetchone():
        return True
    if not action():
        return False
    connection.execute("INSERT INTO done (op, at_ms) VALUES (?, ?)", (op, at_ms))
    connection.execute(_FORGET, (at_ms - REMEMBERED_MS,))
    return True
