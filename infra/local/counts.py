"""One process's counts on one machine: its own, written down each second, and its neighbours' beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from infra.local.metric_files import MetricFile, read_metrics
from infra.local.metrics_page import metrics_page
from shared.metering.snapshot import Snapshot, snapshot_of
from shared.metering.watch import Watch
from shared.ports.system import Clock


class Counts:
    """The counts of the process called `process`, written down from now until `close`."""

    def __init__(self, data: Path | str, process: str, clock: Clock) -> None:
        """Go on where a predecessor of the same name stopped."""
        self.watch = Watch(clock)
        self._data = data
        self._process = process
        self._clock = clock
        self._file = MetricFile(data, process, self.watch, clock)
        self._file.start()

    def others(self) -> Sequence[Snapshot]:
        """Read what the neighbours have written."""
        return read_metrics(self._data, without=self._process)

    def page(self) -> str:
        """Write all processes' counts for Prometheus."""
        now_ms = self._clock.now_ms()
        return metrics_page([snapshot_of(self._process, self.watch, now_ms), *self.others()], now_ms)

    def close(self) -> None:
        """Write for the last time."""
        self._file.close()
