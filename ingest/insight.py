"""What a process of the door knows beyond its store: what it counted, what others counted, the statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from shared.domain.errors import Unavailable

if TYPE_CHECKING:
    from shared.metering.snapshot import Snapshot
    from shared.metering.watch import Watch
    from shared.ports.stats import StatsStore


def _no_statistics() -> StatsStore:
    raise Unavailable("No statistics are kept here.")


def _nothing() -> None:
    """Have nothing to send and nothing to give back."""


class Insight(Struct, frozen=True):
    """`watch` is this process's own; `open_stats` is called when statistics are first asked for.

    `others` returns what the other processes of this machine last wrote down; on Lambda there are none to be seen,
    and CloudWatch has the sums. `send` sends this process's metrics on.
    """

    watch: Watch
    others: Callable[[], Sequence[Snapshot]] = tuple
    open_stats: Callable[[], StatsStore] = _no_statistics
    send: Callable[[], None] = _nothing
    close: Callable[[], None] = _nothing

    def snapshots(self, now_ms: int) -> list[Snapshot]:
        """Return this process's counts and the others'."""
        # Only dashboards ask.
        from shared.metering.snapshot import snapshot_of  # noqa: PLC0415

        return [snapshot_of("API", self.watch, now_ms), *self.others()]
