"""What this worker has to do now: the sales that are kept, and its own share of their tasks."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from consumers.membership import Membership
from consumers.tasks import GroupTask, ShardTask, group_tasks, shard_tasks
from consumers.tools import Tools
from shared.domain.errors import Unavailable
from shared.domain.rendezvous import owner
from shared.domain.sale import Sale

SALES_S = 1.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Share:
    """The sales, and those of their tasks that fall to this worker; never changed, only replaced."""

    sales: Mapping[str, Sale] = field(default_factory=dict)
    groups: tuple[GroupTask, ...] = ()
    shards: tuple[ShardTask, ...] = ()


@dataclass(slots=True)
class Roster:
    """Keeps `share` up to date. Sales are read at most once a second, members once a heartbeat."""

    tools: Tools
    membership: Membership
    share: Share = field(default_factory=Share)
    _read_at_s: float = float("-inf")
    _basis: tuple[tuple[str, ...], Mapping[str, Sale]] | None = None

    def refresh(self) -> None:
        """Beat, look, and divide the tasks anew if anything has changed. Unavailable when the store is silent."""
        self.membership.tick()
        now_s = self.tools.clock.monotonic_s()
        sales = self.share.sales
        if now_s - self._read_at_s >= SALES_S:
            sales = {view.sale.event_id: view.sale for view in self.tools.store.list_sales()}
            self._read_at_s = now_s
        basis = self.membership.live(), sales
        if basis != self._basis:
            self._basis = basis
            self.share = self._divide(*basis)

    def keep(self) -> None:
        """Refresh, and go on with what is known when the store is silent."""
        try:
            self.refresh()
        except Unavailable:
            _log.warning("the control table does not answer; going on with what is known")

    def _divide(self, live: tuple[str, ...], sales: Mapping[str, Sale]) -> Share:
        def mine(task: GroupTask | ShardTask) -> bool:
            return owner(task.name, live) == self.membership.name

        return Share(
            sales=sales,
            groups=tuple(task for sale in sales.values() for task in group_tasks(sale) if mine(task)),
            shards=tuple(task for sale in sales.values() for task in shard_tasks(sale) if mine(task)),
        )
