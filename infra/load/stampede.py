"""The parent of the generators: starts them together, adds up what they tell, gathers their receipts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from infra.load.job import Job
from infra.local.leashed import PARENT
from shared.domain.errors import Broken, NotFound, Unavailable

# Beyond this many buyers one process's own share of a core runs out.
BUYERS_A_PROCESS = 2_500
READY_WITHIN_S = 120.0


@dataclass(slots=True)
class Progress:
    """What all generators have come to so far."""

    tally: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)

    @property
    def answered(self) -> int:
        """Buyers who know whether their order was taken."""
        return self.tally["accepted"] + self.tally["refused"]


def split(job: Job, processes: int) -> list[Job]:
    """Share a job's buyers among processes, each with a receipts file of its own."""
    each, rest = divmod(job.count, processes)
    parts: list[Job] = []
    first = job.first
    for n in range(processes):
        count = each + (1 if n < rest else 0)
        parts.append(replace(job, first=first, count=count, receipts=f"{job.receipts}.{n}"))
        first += count
    return [part for part in parts if part.count]


class Stampede:
    """A running stampede."""

    def __init__(self, job: Job, *, processes: int) -> None:
        self._job = job
        self._parts = split(job, processes)
        self._children: list[subprocess.Popen[str]] = []
        self._told: dict[int, dict[str, Any]] = {}
        self._done: set[int] = set()
        self._failed: str | None = None
        self._missing = False
        self._readers: list[threading.Thread] = []
        self._ready = threading.Semaphore(0)

    def prepare(self) -> None:
        """Start the generators and wait until each has its tokens.

        NotFound without the event, Unavailable when the door does not answer.
        """
        for number, part in enumerate(self._parts):
            child = subprocess.Popen(
                [sys.executable, "-m", "infra.local.leashed", "infra.load.generator"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, PARENT: str(os.getpid())},
                # A Ctrl-C reaches the parent only, which sends the buyers home with their receipts.
                start_new_session=True,
            )
            self._children.append(child)
            _write(child, part.to_line())
            reader = threading.Thread(target=self._listen, args=(number, child), daemon=True)
            reader.start()
            self._readers.append(reader)
        for _ in self._children:
            if not self._ready.acquire(timeout=READY_WITHIN_S):
                self._failed = self._failed or "a generator did not become ready in time"
        if self._failed:
            self.stop()
            if self._missing:
                raise NotFound(f"There is no event {self._job.event_id} at {self._job.url}; see: onsale sale list")
            raise Unavailable(f"The stampede could not start: {self._failed}.")

    def go(self) -> None:
        """Open the gates, everywhere at once."""
        for child in self._children:
            _write(child, "go")

    def tell_news(self) -> None:
        """Tell all buyers that the sale is over, as a mail would."""
        for child in self._children:
            _write(child, "over")

    @property
    def running(self) -> bool:
        """Say whether any buyer is still under way."""
        return any(child.poll() is None for child in self._children)

    def progress(self) -> Progress:
        """Add up what the generators told last."""
        so_far = Progress()
        for told in list(self._told.values()):
            so_far.tally.update(told["tally"])
            so_far.statuses.update(told["statuses"])
        return so_far

    def finish(self, *, wait: Callable[[], None] = lambda: None) -> Progress:
        """Wait for the end, gather the receipts into one file; Broken when a generator fell."""
        while self.running:
            wait()
            for child in self._children:
                try:
                    child.wait(timeout=0.2)
                except subprocess.TimeoutExpired:
                    break
        for reader in self._readers:
            reader.join(timeout=5)
        self._gather()
        if len(self._done) < len(self._children):
            raise Broken("A generator process ended before its buyers did; their receipts are incomplete.")
        return self.progress()

    def stop(self) -> None:
        """Send the buyers home; their receipts are written."""
        for child in self._children:
            if child.poll() is None:
                child.terminate()

    def _gather(self) -> None:
        with Path(self._job.receipts).open("wb") as whole:
            for part in self._parts:
                path = Path(part.receipts)
                if path.exists():
                    with path.open("rb") as one:
                        shutil.copyfileobj(one, whole)
                    path.unlink()

    def _listen(self, number: int, child: subprocess.Popen[str]) -> None:
        ready = False
        for line in child.stdout or ():
            told = json.loads(line)
            if "tally" in told:
                self._told[number] = told
            elif "done" in told:
                self._done.add(number)
            elif "failed" in told:
                self._failed, self._missing = told["failed"], told.get("missing", False)
            elif "ready" in told:
                ready = True
                self._ready.release()
        if not ready:
            self._failed = self._failed or "a generator ended at once"
            self._ready.release()


def processes_for(buyers: int) -> int:
    """Return how many generator processes that many buyers need, two at least for a real crowd."""
    return max(1 if buyers < 100 else 2, -(-buyers // BUYERS_A_PROCESS))  # noqa: PLR2004


def _write(child: subprocess.Popen[str], line: str) -> None:
    if child.stdin is None:
        return
    try:
        child.stdin.write(line + "\n")
        child.stdin.flush()
    except BrokenPipeError:
        # It has ended; its own word or its absence says why.
        return
