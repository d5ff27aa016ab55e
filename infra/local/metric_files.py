"""What each process of one machine has counted, as a file that the others read: `metrics/NAME.json` in the data folder.

A process writes once a second and when it ends; started again under its name, it goes on from there. A process that
is killed outright loses what it counted since the last second. The folder is emptied when the system starts.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path

from shared.domain.errors import Broken
from shared.metering.snapshot import Snapshot, read_snapshot, snapshot_of, snapshot_value
from shared.metering.watch import Watch
from shared.ports.system import Clock

WRITE_EVERY_S = 1.0
_SUFFIX = ".json"


def metrics_folder(data: Path | str) -> Path:
    """Return the folder of a data folder's system."""
    return Path(data) / "metrics"


def empty_metrics(data: Path | str) -> None:
    """Make the folder, or empty it: a system that starts begins to count anew."""
    folder = metrics_folder(data)
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        file.unlink(missing_ok=True)


def read_metrics(data: Path | str, *, without: str = "") -> Sequence[Snapshot]:
    """Return what processes have written, but that one; a file that is no snapshot is passed over."""
    folder = metrics_folder(data)
    if not folder.is_dir():
        return ()
    snapshots = (_read(file) for file in sorted(folder.glob(f"*{_SUFFIX}")) if file.stem != without)
    return tuple(snapshot for snapshot in snapshots if snapshot is not None)


class MetricFile:
    """Writes one process's counts down, on a thread of its own, from `start` to `close`."""

    def __init__(self, data: Path | str, process: str, watch: Watch, clock: Clock) -> None:
        """Write what `watch` counts as the file of `process`, a name without slashes."""
        self._file = metrics_folder(data) / f"{process}{_SUFFIX}"
        self._process = process
        self._watch = watch
        self._clock = clock
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="metric-file", daemon=True)

    def start(self) -> None:
        """Go on counting where a predecessor of the same name stopped, and begin to write."""
        before = _read(self._file)
        if before is not None:
            self._watch.meter.resume(before.series)
            self._watch.ledger.resume(before.attempts)
        self._thread.start()

    def close(self) -> None:
        """Write for the last time."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self.write()

    def write(self) -> None:
        """Write now; without a folder (a process that stands alone), and on a full disk, nothing is written."""
        value = snapshot_value(snapshot_of(self._process, self._watch, self._clock.now_ms()))
        beside = self._file.with_suffix(".new")
        try:
            beside.write_text(json.dumps(value, separators=(",", ":")), encoding="utf-8")
            beside.replace(self._file)
        except OSError:
            return

    def _run(self) -> None:
        while not self._stop.wait(WRITE_EVERY_S):
            self.write()


def _read(file: Path) -> Snapshot | None:
    try:
        return read_snapshot(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, Broken):
        return None
