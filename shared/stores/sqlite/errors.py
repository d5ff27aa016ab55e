"""What SQLite's errors mean for the caller."""

from __future__ import annotations

import sqlite3

from shared.domain.errors import Broken, Contended, OnsaleError, Unavailable

_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_SENTENCES = {
    sqlite3.SQLITE_FULL: "The disk under {place} is full; free some space and go on, nothing accepted was lost.",
    sqlite3.SQLITE_READONLY: "{place} cannot be written; give this user the right to, or set ONSALE_DATA_DIR.",
    sqlite3.SQLITE_CANTOPEN: "{place} cannot be opened; give this user the right to, or set ONSALE_DATA_DIR.",
    sqlite3.SQLITE_PERM: "{place} cannot be opened; give this user the right to, or set ONSALE_DATA_DIR.",
}
# The low byte of an extended result code is the primary one; see "Result and Error Codes" in SQLite's manual.
_PRIMARY = 0xFF


def translate(error: sqlite3.Error, place: str) -> OnsaleError:
    """Return the error to raise instead; `place` names the file."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & _PRIMARY
    if code in _BUSY:
        return Contended(f"Another program is writing to {place}; repeat the request after a short random wait.")
    if code in _DAMAGED:
        return Broken(f"{place} is damaged or no database ({error}); put it aside and restore the last export.")
    if code in _SENTENCES:
        return Unavailable(_SENTENCES[code].format(place=place))
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
        return Unavailable(f"{place} was closed; open it again.")
    if isinstance(error, sqlite3.OperationalError):
        return Unavailable(f"{place} does not answer ({error}); try again shortly.")
    return Broken(f"{place} refused a statement ({error}); stop and run `onsale verify`.")
