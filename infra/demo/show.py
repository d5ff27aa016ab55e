"""Live progress on stderr: what buyers were told on the left, where seats and orders are on the right."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.table import Table

from infra.demo.look import Look
from infra.load.stampede import Progress


class Show:
    """One live table. On a terminal it is redrawn; elsewhere a line is written when the phase changes."""

    def __init__(self, console: Console, buyers: int, capacity: int) -> None:
        self._console = console
        self._buyers = buyers
        self._capacity = capacity
        self._phase = ""
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def phase(self, sentence: str) -> None:
        """Say what happens now."""
        self._phase = sentence
        if self._live is None:
            self._console.print(sentence)

    def draw(self, progress: Progress, look: Look | None, kills: int) -> None:
        """Show where everything stands."""
        if self._live is None:
            return
        tally = progress.tally
        table = Table(box=None, pad_edge=False, title=self._phase, title_justify="left")
        for _ in range(4):
            table.add_column(justify="right")
            table.add_column()
        waits = sum(count for name, count in progress.statuses.items() if name.endswith(" 503"))
        table.add_row(
            f"{tally['pressed']:,}", f"of {self._buyers:,} pressed", f"{tally['accepted']:,}", "accepted",
            f"{tally['refused']:,}", "refused", f"{waits:,}", "told to come back",
        )  # fmt: skip
        if look is not None:
            table.add_row(
                f"{look.left:,}", f"of {self._capacity:,} seats left", f"{look.taken:,}", "held or sold",
                f"{look.waiting:,}", "in line", f"{look.due:,}", "in payment",
            )  # fmt: skip
        table.add_row(f"{tally['ended']:,}", "know their end", f"{kills:,}", "workers killed")
        self._live.update(table)
