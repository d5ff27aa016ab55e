"""The folder of one exported sale: segments, and a manifest that says what each must contain.

Segments are JSON lines. `manifest.jsonl` has a line for each finished segment with its SHA-256, count of lines and,
so that an interrupted export goes on, the shard and the cursor behind it. The last line closes the export with the
SHA-256 of all lines before it: a byte changed anywhere is found.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from infra.usage import Usage
from shared.domain.errors import Broken

MANIFEST = "manifest.jsonl"
FORMAT = 1


class Damaged(Broken):
    """The backup is not what was exported; take another copy of it."""

    code = "backup-damaged"


class Entry(NamedTuple):
    """One finished segment."""

    name: str
    sha256: str
    lines: int
    shard: int | None
    cursor: str | None


class Folder:
    """One sale's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def begin(self, event_id: str) -> list[Entry]:
        """Make the folder, or find out how far an interrupted export has come; Usage when it is another sale's."""
        self.path.mkdir(parents=True, exist_ok=True)
        lines = self._lines()
        if not lines:
            if any(self.path.iterdir()):
                raise Usage(f"{self.path} holds other files; name an empty folder.")
            self._append({"format": FORMAT, "event": event_id})
            return []
        if lines[0].get("event") != event_id:
            raise Usage(f"{self.path} holds another sale; name an empty folder.")
        return [Entry(**line) for line in lines[1:] if "name" in line]

    @property
    def complete(self) -> bool:
        """Say whether the export has come to its end."""
        lines = self._lines()
        return bool(lines) and "end" in lines[-1]

    def write(self, name: str, rows: Sequence[Any], *, shard: int | None = None, cursor: str | None = None) -> None:
        """Write one segment whole, and then its line in the manifest."""
        data = b"".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for row in rows)
        beside = self.path / f"{name}.new"
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path / name)
        self._append(Entry(name, hashlib.sha256(data).hexdigest(), len(rows), shard, cursor)._asdict())

    def end(self) -> None:
        """Close the manifest."""
        manifest = self.path / MANIFEST
        self._append({"end": hashlib.sha256(manifest.read_bytes()).hexdigest()})

    def check(self) -> tuple[str, list[Entry]]:
        """Compare every segment with the manifest; return event and segments, or Damaged naming all that differ."""
        manifest = self.path / MANIFEST
        if not manifest.is_file():
            raise Damaged(f"{manifest} is missing.")
        data = manifest.read_bytes()
        head, _, last = data.rstrip(b"\n").rpartition(b"\n")
        if last != json.dumps({"end": hashlib.sha256(head + b"\n").hexdigest()}).encode() or not data.endswith(b"\n"):
            raise Damaged(f"{manifest} was altered, or the export was interrupted; run `onsale export` again.")
        lines = [json.loads(line) for line in head.splitlines()]
        entries = [Entry(**line) for line in lines[1:]]
        wrong = [
            f"{entry.name} {'is missing' if found is None else 'was altered'}"
            for entry in entries
            if (found := self._digest(entry.name)) != entry.sha256
        ]
        if wrong:
            raise Damaged(f"The backup in {self.path} is damaged: {', '.join(wrong)}.")
        return lines[0]["event"], entries

    def rows(self, entry: Entry) -> Iterator[Any]:
        """Read a segment's rows."""
        with (self.path / entry.name).open("rb") as file:
            for line in file:
                yield json.loads(line)

    def _digest(self, name: str) -> str | None:
        try:
            return hashlib.sha256((self.path / name).read_bytes()).hexdigest()
        except FileNotFoundError:
            return None

    def _lines(self) -> list[dict[str, Any]]:
        """Read the manifest; a last line that was cut off by an interruption does not count, and is taken away."""
        manifest = self.path / MANIFEST
        if not manifest.is_file():
            return []
        data = manifest.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if whole != data:
            manifest.write_bytes(whole)
        try:
            return [json.loads(line) for line in whole.splitlines()]
        except ValueError:
            raise Damaged(f"{manifest} was altered; export into another folder.") from None

    def _append(self, line: dict[str, Any]) -> None:
        with (self.path / MANIFEST).open("ab") as file:
            file.write(json.dumps(line).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
