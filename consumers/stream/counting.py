"""Changes to counts: pure, and exact for one batch."""

from __future__ import annotations

from collections.abc import Iterable

from consumers.stream.record import ABSENT, REMOVED, Change
from shared.domain.stats.states import PARKED
from shared.domain.stats.top_counts import Row, TopCounts
from shared.domain.stats.window import Counts

# What is no status of an order.
_NOWHERE = frozenset({None, ABSENT, REMOVED})

_Tally = dict[str, list[int]]


def count(changes: Iterable[Change]) -> Counts:
    """Count changes, each as often as it stands there."""
    writes = arrivals = 0
    keys: _Tally = {}
    events: _Tally = {}
    buyers: _Tally = {}
    steps: dict[str, int] = {}
    for change in changes:
        arrived = int(change.arrived)
        writes += 1
        arrivals += arrived
        for tally, name in ((keys, change.key), (events, change.event_id), (buyers, change.buyer_id)):
            if name is not None:
                row = tally.setdefault(name, [0, 0, 0])
                row[0] += 1
                row[1] += arrived
                row[2] += change.depth
        if change.before != change.after:
            step = f"{change.before}>{change.after}"
            steps[step] = steps.get(step, 0) + 1
    return Counts(writes, arrivals, _top(keys), _top(events), _top(buyers), steps)


def count_states(changes: Iterable[Change]) -> dict[int, dict[str, int]]:
    """Count how changes moved orders between statuses, by the shard of their event."""
    steps: dict[int, dict[str, int]] = {}
    for change in changes:
        row = steps.setdefault(change.shard, {})
        for state, by in ((change.before, -1), (change.after, 1)):
            if state is not None and state not in _NOWHERE:
                row[state] = row.get(state, 0) + by
        row[PARKED] = row.get(PARKED, 0) + change.parked
    return steps


def _top(tally: _Tally) -> TopCounts:
    return TopCounts({name: Row(*row) for name, row in tally.items()})
