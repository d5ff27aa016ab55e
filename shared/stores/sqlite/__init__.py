"""The store of one machine: SQLite, durable when it answers."""

from shared.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
