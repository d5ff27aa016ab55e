"""Worker processes that are killed outright: the others take over, and a restarted name goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from consumers.tasks import GroupTask
from shared.domain.order import Status
from shared.domain.rendezvous import owner
from tests.integration.town import Town, make_town, wait_until

__all__ = ["make_town"]
pytestmark = pytest.mark.timeout(240)

ROOT = Path(__file__).parents[2]
NAMES = ("ann", "bob")
# Free orders only: no payment service is there to be asked.
SECRETS = {"ONSALE_PAYMENT_KEY": "sk_test_x", "ONSALE_TAG_SECRET": "x" * 32, "ONSALE_PAYMENT_URL": "http://127.0.0.1:9"}


@pytest.fixture
def start_process(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Return a starter of `onsale work` processes, ready to work when it returns."""
    processes: list[subprocess.Popen[str]] = []

    def start(name: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "infra.cli.main", "work", "--name", name],
            cwd=ROOT,
            env={**os.environ, **SECRETS, "ONSALE_DATA_DIR": str(tmp_path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        assert process.stdout is not None
        assert name in process.stdout.readline()
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def test_a_killed_workers_tasks_are_taken_over(
    make_town: Callable[..., Town], start_process: Callable[[str], subprocess.Popen[str]]
) -> None:
    """The owner of the only group dies without a word: the other one serves the next orders, in every shard."""
    town = make_town(shard_counts=(2,))
    running = {name: start_process(name) for name in NAMES}
    first = town.order(price=0)
    wait_until(lambda: town.status(first) is Status.CONFIRMED)
    victim = owner(GroupTask("gig", 0).name, NAMES)

    running[victim].kill()
    keys = [town.order(price=0, shard=shard) for shard in (0, 1)]

    wait_until(lambda: town.statuses(keys) == {Status.CONFIRMED: 2})


def test_a_killed_worker_goes_on_under_its_old_name(
    make_town: Callable[..., Town], start_process: Callable[[str], subprocess.Popen[str]]
) -> None:
    """Restarted with the same name it works at once, as its only owner."""
    town = make_town()
    before = start_process("ann")
    before.kill()
    before.wait()
    key = town.order(price=0)

    start_process("ann")

    wait_until(lambda: town.status(key) is Status.CONFIRMED)


def test_sigterm_ends_a_worker_in_order(
    make_town: Callable[..., Town], start_process: Callable[[str], subprocess.Popen[str]]
) -> None:
    """Asked to stop it finishes, takes its name off the list, and exits with 0."""
    town = make_town()
    process = start_process("ann")
    wait_until(lambda: [member.name for member in town.store.members()] == ["ann"])

    process.send_signal(signal.SIGTERM)

    assert process.wait(30) == 0
    assert town.store.members() == ()


def test_a_worker_without_its_settings_says_which(tmp_path: Path) -> None:
    """What is missing is named in a sentence, and the exit code says that a rule refused."""
    done = subprocess.run(
        [sys.executable, "-m", "infra.cli.main", "work"],
        cwd=ROOT,
        env={**os.environ, "ONSALE_DATA_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )

    assert done.returncode == 4
    assert "ONSALE_PAYMENT_KEY" in done.stderr
    assert "Traceback" not in done.stderr
