"""What the parts of the store have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shared.ports.system import Clock
    from shared.stores.sqlite.database import Database


class Part:
    """One part of the store: the database under it, and the clock that dates its changes."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Work on `database`."""
        self._database = database
        self._clock = clock
