"""Small rooms: a source file is read in one sitting."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("ingest", "consumers", "shared", "infra", "tests")
SUFFIXES = {".css", ".html", ".js", ".py", ".sql"}
MAX_LINES = 400


def test_no_source_file_is_longer_than_one_sitting() -> None:
    """No file that a person writes and reads has more than 400 lines."""
    files = [path for room in ROOMS for path in (ROOT / room).rglob("*") if path.suffix in SUFFIXES]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in files}

    assert lengths
    assert {name: lines for name, lines in lengths.items() if lines > MAX_LINES} == {}
