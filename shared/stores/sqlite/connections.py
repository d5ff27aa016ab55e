"""How the file is made, found and opened."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from shared.domain.errors import Broken, Unavailable
from shared.stores.sqlite.errors import translate

# How long a reader waits where it must, while another process recovers the log after a crash, and a writer beside the
# store for another's transaction, which takes milliseconds.
BUSY_TIMEOUT_S = 2.0
SCHEMA_VERSION = 1
# "Onsa": tells our file from any other database.
APPLICATION_ID = 0x4F6E7361
_CACHE_KIB = 32_768


def connect(path: Path | None, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """Open one connection in autocommit mode that any one thread at a time may use; None is memory."""
    connection = sqlite3.connect(
        ":memory:" if path is None else path,
        timeout=busy_timeout_s,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=128,
    )
    with _closed_unless_whole(connection):
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute("PRAGMA synchronous = FULL")
        # Checkpoints are taken off the commit path; see checkpoints.py.
        connection.execute("PRAGMA wal_autocheckpoint = 0")
    return connection


def connect_beside(path: Path | None, schema: str) -> sqlite3.Connection:
    """Open a file of its own beside the store, made by the named script if absent; None is memory.

    Any one thread at a time may use the connection.
    """
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)  # it names buyers, if only by their subjects
    connection = sqlite3.connect(
        ":memory:" if path is None else path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    with _closed_unless_whole(connection):
        connection.execute("PRAGMA journal_mode = WAL")
        # The stream's reader moves on once a batch is stored: it must outlive a power cut.
        connection.execute("PRAGMA synchronous = FULL")
        connection.executescript(files("shared.stores.sqlite").joinpath(schema).read_text(encoding="utf-8"))
    return connection


@contextlib.contextmanager
def _closed_unless_whole(connection: sqlite3.Connection) -> Iterator[None]:
    """Close a connection that cannot be made ready: nobody else will."""
    with contextlib.ExitStack() as undo:
        undo.callback(connection.close)
        yield
        undo.pop_all()


def create_schema(connection: sqlite3.Connection, created: str) -> None:
    """Lay out an empty database; `created` becomes the stream's label."""
    schema = files("shared.stores.sqlite").joinpath("schema.sql").read_text(encoding="utf-8")
    connection.executescript(f"BEGIN;{schema}COMMIT;")
    connection.execute("INSERT INTO about VALUES ('created', ?)", (created,))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def make_file(path: Path, created: str) -> None:
    """Put a whole, empty database at `path` unless one stands there.

    It is written aside and linked into place, so that several processes that start at once find none or a whole one.
    """
    if path.exists():
        return
    aside = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, aside = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        os.close(handle)
        with contextlib.closing(connect(Path(aside))) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            create_schema(connection, created)
        with contextlib.suppress(FileExistsError):
            os.link(aside, path)
    except OSError as error:
        raise Unavailable(
            f"The folder {path.parent} cannot hold the store ({error.strerror}); "
            "give this user the right to write there, or set ONSALE_DATA_DIR to another folder."
        ) from error
    except sqlite3.Error as error:
        raise translate(error, str(path)) from error
    finally:
        if aside:
            Path(aside).unlink(missing_ok=True)


def check_file(connection: sqlite3.Connection, place: str) -> None:
    """Raise Broken when the file is not ours or of another layout."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        raise Broken(f"{place} is not a store of this program; set ONSALE_DATA_DIR to another folder.")
    if version != SCHEMA_VERSION:
        raise Broken(
            f"{place} has layout {version}, this program knows {SCHEMA_VERSION}; "
            "export it with the program that wrote it and restore the export here."
        )
