"""How a sale's budget of orders per second is cut: a static share for every process, and grants to lease.

Everything is a whole number of orders per second, so shares and grants add up to the budget exactly.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec import Struct

# A grant for every process: when all are equally busy, each comes to its whole part of the budget.
MAX_GRANTS = 1024


class Split(Struct, frozen=True):
    """Orders per second: `share` for each process, and one figure for each grant item."""

    share: int
    grants: tuple[int, ...]


@lru_cache(maxsize=1024)
def split_budget(accept_per_s: int, processes: int) -> Split:
    """Cut a budget: half of it in shares, the rest in grants; a process alone has the whole as its share."""
    if processes == 1:
        return Split(accept_per_s, ())
    share = accept_per_s // 2 // processes
    leased = accept_per_s - share * processes
    count = min(processes, leased, MAX_GRANTS)
    return Split(share, tuple(leased * (no + 1) // count - leased * no // count for no in range(count)))
