"""Changes to counts: pure, and exact for one batch."""

from __future__ import annotations

from collections.abc import Iterable

from consumers.stream.record import Change
from shared.domain.stats.top_counts import Row, TopCounts
from shared.domain.stats.window import Counts

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


def _top(tally: _Tally) -> TopCounts:
    return TopCounts({name: Row(*row) for name, row in tally.items()})
