"""A script can branch on the exit code, and a person reads a sentence."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from infra.cli import exits
from infra.cli.api import error_of
from infra.cli.lazy import load
from infra.cli.main import COMMANDS, main
from infra.cli.talk import console
from infra.usage import Usage
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
        (Usage(), exits.USAGE),
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
def test_every_listed_command_exists_and_shows_an_example(name: str, onsale: Onsale) -> None:
    """No command is a stub: each loads, explains itself and gives an example."""
    done = onsale(name, "--help")

    assert load(name, COMMANDS[name]).name == name
    assert done.code == 0
    assert f"Examples: onsale {name}" in done.out


@pytest.mark.parametrize("name", COMMANDS)
def test_a_paragraph_of_help_is_broken_by_the_terminal_alone(name: str) -> None:
    """The docstring's own line breaks would leave half the lines of a narrow terminal empty."""
    command = load(name, COMMANDS[name])

    for one in (command, *getattr(command, "commands", {}).values()):
        assert one.help
        assert "\n" not in one.help.replace("\n\n", "")


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["sale", "show", "gig"], 2, "onsale up"),
        (["sale", "list", "--url", "ftp://x"], 2, "is not an address"),
        (["sale", "list", "--url", "http://127.0.0.1:9", "--token", "t"], 5, "does not answer"),
        (["order", "show", "gig", "a/b"], 2, "no slash"),
        (["verify", "gig"], 3, "There is no store"),
        (["sale", "create"], 2, "Name the event"),
        (["demo", "--data", "/proc/none"], 2, "cannot be written"),
        (["up", "--data", "/proc/none", "--port", "0"], 2, "cannot be written"),
        (["stampede", "--event", "gig", "--at-once", "--ramp", "--url", "http://127.0.0.1:9"], 2, "choose one of"),
        (["nonsense"], 2, "No such command"),
        (["verify"], 2, "Missing argument"),
    ],
)
def test_what_cannot_be_done_is_said_on_stderr(arguments: list[str], code: int, sentence: str, onsale: Onsale) -> None:
    """Nothing on stdout, one sentence that says what to do on stderr, and the documented code."""
    done = onsale(*arguments)

    assert done.code == code
    assert done.out == ""
    assert sentence in done.err


def test_a_taken_port_is_said_and_nothing_is_left_behind(tmp_path: Path, onsale: Onsale) -> None:
    """A port in use ends `up` with 2 and a sentence that names the way out."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()

        done = onsale("up", "--port", str(other.getsockname()[1]), "--data", str(tmp_path / "shop"))

    assert done.code == 2
    assert "choose another with --port" in done.err
    assert not (tmp_path / "shop").exists()


def test_the_doctor_tells_programs_what_it_found(onsale: Onsale) -> None:
    """One entry a thing; what was never started is no fault."""
    done = onsale("doctor", "--json", "--port", "1")
    found = {one["thing"]: one["good"] for one in json.loads(done.out)}

    assert found["python"] is True
    assert found["store"] is None
    assert list(found) == ["python", "sqlite", "folder", "disk", "port", "store", "payment service", "API", "clock"]
    assert done.code == (0 if found["port"] else 5)


def test_the_list_of_commands_loads_none_of_them() -> None:
    """`onsale --help` is quick because it imports no command's machinery."""
    program = (
        "import sys; from infra.cli.main import app; app(['--help'], standalone_mode=False); "
        "print(sorted(name for name in sys.modules if name.startswith('infra.cli.') or name == 'boto3'))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)

    assert "hot-keys" in done.stdout
    assert done.stdout.splitlines()[-1] == "['infra.cli.exits', 'infra.cli.lazy', 'infra.cli.main']"


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Onsale = Callable[..., Done]


@pytest.fixture
def onsale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Onsale:
    """Run the command line in this process, in an empty folder, on a wide terminal."""
    console.cache_clear()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["onsale", *arguments])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        told = capsys.readouterr()
        return Done(code, told.out, told.err)

    return run
