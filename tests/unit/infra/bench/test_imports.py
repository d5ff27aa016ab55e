"""What `onsale bench import` measures."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.bench.imports import import_ms, run

SIDES = {"handler_ms", "handler_alone_ms", "yardstick_ms", "handler_without_bytecode_ms"}


@pytest.mark.parametrize("forbidden", ["", "1"])
def test_bytecode_is_there_whatever_the_environment_says(
    forbidden: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell that forbids writing it would have our modules compiled each time, and the libraries' not."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", forbidden)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "elsewhere"))

    import_ms("import ingest.budget", str(tmp_path / "kept"), write=True)
    import_ms("import ingest.budget", str(tmp_path / "empty"))

    assert {path.name.split(".")[0] for path in (tmp_path / "kept").rglob("*.pyc")} >= {"budget", "__init__"}
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_every_side_is_measured() -> None:
    """One round is enough for a figure of each, and for the ratio."""
    said: list[str] = []

    figures = run(runs=1, say=said.append)

    assert figures.keys() >= SIDES | {"ratio", "against", "machine", "date"}
    assert all(figures[side] > 0 for side in SIDES)
    assert said == ["Run 1 of 1 is measured."]
