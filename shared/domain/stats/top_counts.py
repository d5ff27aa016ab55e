"""The most frequent names of a stream in bounded memory, with a bound on the error.

A Misra–Gries summary: at most `capacity` names are kept; when there are more, the count of the largest one that finds
no room is taken off all. What was taken off in all is `missed`, so for every name, kept or not::

    kept count  <=  true count  <=  kept count + missed,   missed <= writes / (capacity + 1)

Two summaries merge into one with the same bound, in any order and grouping.
Source: Misra, Gries, "Finding repeated elements" (1982); Agarwal, Cormode, Huang, Phillips, Wei, Yi, "Mergeable
summaries" (PODS 2012), section 3.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from msgspec import Struct, field


class Row(NamedTuple):
    """What is counted under one name.

    `writes` are all changes, `arrivals` the new orders among them, `depth` is by how much the line grew or shrank. The
    bound of `writes` holds for each: a name that loses its place loses at most as many changes as were missed.
    """

    writes: int
    arrivals: int
    depth: int

    def plus(self, other: Row) -> Row:
        """Add two rows of one name."""
        return Row(self.writes + other.writes, self.arrivals + other.arrivals, self.depth + other.depth)


class TopCounts(Struct, frozen=True):
    """Names with their rows, and how much the rows may lack."""

    rows: Mapping[str, Row] = field(default_factory=dict)
    missed: int = 0

    def merged(self, other: TopCounts, capacity: int) -> TopCounts:
        """Add another summary and cut back to `capacity` names."""
        return merge_top([self, other]).cut(capacity)

    def cut(self, capacity: int) -> TopCounts:
        """Keep at most `capacity` names."""
        if len(self.rows) <= capacity:
            return self
        taken = heapq.nlargest(capacity + 1, (row.writes for row in self.rows.values()))[-1]
        rows = {name: row._replace(writes=row.writes - taken) for name, row in self.rows.items() if row.writes > taken}
        return TopCounts(rows, self.missed + taken)

    def top(self, count: int) -> list[tuple[str, Row]]:
        """Return the `count` names with most writes, ties by name."""
        return heapq.nsmallest(count, self.rows.items(), key=lambda entry: (-entry[1].writes, entry[0]))


def merge_top(parts: Iterable[TopCounts]) -> TopCounts:
    """Add summaries without cutting: for a reader, whose memory grows with what it reads."""
    rows: dict[str, Row] = {}
    missed = 0
    for part in parts:
        missed += part.missed
        for name, row in part.rows.items():
            seen = rows.get(name)
            rows[name] = row if seen is None else seen.plus(row)
    return TopCounts(rows, missed)
