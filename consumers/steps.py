"""The back office without threads: every step that a worker makes, one call each, in the caller's own time.

What is remembered between steps are hints; a back office that is thrown away at any point and made anew goes on where
the stored orders stand.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from consumers.allocation.allocate import Allocation, Pass
from consumers.settlement.outcome import Outcome
from consumers.settlement.settle import Settlement
from consumers.settlement.sweep import Sweep
from consumers.tasks import GroupTask, ShardTask, shard_tasks
from consumers.tools import Tools
from shared.domain.errors import Unavailable
from shared.domain.order_id import OrderKey
from shared.domain.sale import Sale
from shared.stores.limits import MAX_BATCH

# Orders of one shard settled in one sweep.
SWEPT = 50


@dataclass(slots=True)
class BackOffice:
    """One worker's memory and steps."""

    tools: Tools
    _allocations: dict[GroupTask, Allocation] = field(default_factory=dict)
    _sweeps: dict[ShardTask, Sweep] = field(default_factory=dict)

    def allocate_once(self, sale: Sale, group: int, most: int = MAX_BATCH) -> Pass:
        """Make one allocating pass of at most `most` orders; overdue holds are settled in it when nothing fits."""
        task = GroupTask(sale.event_id, group)
        allocation = self._allocations.get(task)
        if allocation is None:
            allocation = self._allocations[task] = Allocation(self.tools, task, self.sweep_all)
        return allocation.allocate_once(sale, most)

    def settle_once(self, sale: Sale, key: OrderKey) -> Outcome:
        """Do what is due for one order; Unavailable when the store does not answer."""
        return Settlement(self.tools).settle_once(sale, key)

    def sweep_once(self, sale: Sale, shard: int) -> list[Outcome]:
        """Settle what is due in one shard, one order after another; an order's trouble stays its own.

        Nothing is raised for a store that does not answer: what is due stays due.
        """
        task = ShardTask(sale.event_id, shard)
        sweep = self._sweeps.setdefault(task, Sweep(self.tools, task))
        try:
            hints = sweep.look(SWEPT)
        except Unavailable as error:
            self.tools.observe(sale.event_id, f"sweep_{error.code}", 1)
            return []
        outcomes = []
        for hint in hints:
            try:
                outcome = self.settle_once(sale, hint.key)
            except Unavailable:
                sweep.settled(hint, None)
                continue
            sweep.settled(hint, outcome)
            outcomes.append(outcome)
        return outcomes

    def sweep_all(self, sale: Sale) -> None:
        """Settle what is due in every shard of the sale."""
        for task in shard_tasks(sale):
            self.sweep_once(sale, task.shard)
