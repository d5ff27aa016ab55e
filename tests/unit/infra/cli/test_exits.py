"""A script can branch on the exit code, and a person reads a sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from infra.cli import exits
from infra.cli.api import error_of
from infra.cli.lazy import load
from infra.cli.main import COMMANDS
from shared.domain.errors import (
    AnswerLost,
    Broken,
    Conflicting,
    Declined,
    Invalid,
    NotFound,
    OnsaleError,
    Throttled,
    Unavailable,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotFound(), exits.NOT_FOUND),
        (Conflicting(), exits.REFUSED),
        (Invalid(), exits.REFUSED),
        (Declined(), exits.REFUSED),
        (Unavailable(), exits.UNREACHABLE),
        (Throttled(), exits.UNREACHABLE),
        (AnswerLost(), exits.UNREACHABLE),
        (Broken(), exits.BROKEN),
        (exits.Usage(), exits.USAGE),
        (OnsaleError(), exits.UNEXPECTED),
    ],
)
def test_each_family_of_errors_has_its_exit_code(error: OnsaleError, code: int) -> None:
    """What the caller does next is told by the code."""
    assert exits.exit_code_of(error) == code


@pytest.mark.parametrize(
    ("status", "family"),
    [
        (404, NotFound),
        (409, Conflicting),
        (422, Invalid),
        (400, Invalid),
        (503, Unavailable),
        (429, Unavailable),
        (500, Broken),
    ],
)
def test_an_http_status_becomes_the_error_of_its_family(status: int, family: type[OnsaleError]) -> None:
    """The problem's own sentence is kept."""
    error = error_of(status, {"detail": "Because."})

    assert isinstance(error, family)
    assert error.message == "Because."


@pytest.mark.parametrize("name", COMMANDS)
def test_every_listed_command_exists_and_shows_an_example(name: str) -> None:
    """No command is a stub: each loads, explains itself and gives an example."""
    done = onsale(name, "--help")

    assert load(name, COMMANDS[name]).name == name
    assert done.returncode == 0
    assert f"onsale {name}" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["sale", "show", "gig"], 2, "onsale up"),
        (["sale", "list", "--url", "ftp://x"], 2, "is not an address"),
        (["sale", "list", "--url", "http://127.0.0.1:9", "--token", "t"], 5, "does not answer"),
        (["verify", "gig"], 3, "There is no store"),
        (["sale", "create"], 2, "Name the event"),
        (["nonsense"], 2, "No such command"),
        (["verify"], 2, "Missing argument"),
    ],
)
def test_what_cannot_be_done_is_said_on_stderr(tmp_path: Path, arguments: list[str], code: int, sentence: str) -> None:
    """Nothing on stdout, one sentence that says what to do on stderr, and the documented code."""
    done = onsale(*arguments, cwd=tmp_path)

    assert done.returncode == code
    assert done.stdout == ""
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_the_doctor_tells_programs_what_it_found(tmp_path: Path) -> None:
    """One entry a thing; what was never started is no fault."""
    done = onsale("doctor", "--json", "--port", "1", cwd=tmp_path)
    found = {one["thing"]: one["good"] for one in json.loads(done.stdout)}

    assert found["python"] is True
    assert found["store"] is None
    assert list(found) == ["python", "sqlite", "folder", "disk", "port", "store", "payment service", "API", "clock"]
    assert done.returncode == (0 if found["port"] else 5)


def onsale(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line as a shell would."""
    return subprocess.run(
        [sys.executable, "-m", "infra.cli.main", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "200", "NO_COLOR": "1"},
        timeout=30,
    )
