"""One process's leases on the grant items of one sale: which it has, which it may try for, and how long each runs.

A grant item stands in the control store as a turn, a number that only ever rises by one conditional write. No clock is
compared with another process's: a lease runs for `LEASE_S` from before the write that took it was sent, by its
holder's own clock, and whoever wants it next must have seen its turn unchanged for `TAKEOVER_S` by theirs. So two
leases on one item never overlap, and between them lies the second in which the first one's orders still count.
"""

from __future__ import annotations

from msgspec import Struct

from ingest.recent import SECOND_S
from shared.ports.control import GrantTurn

LEASE_S = 10.0
# Clocks that run apart by less than a fortieth are allowed for.
TAKEOVER_S = LEASE_S + SECOND_S + 0.25
# A lease that is still needed is taken anew from here on, so that a call that fails can be repeated in time.
RENEW_S = LEASE_S / 2


class Wish(Struct, frozen=True):
    """The grant item to try for, and its turn as last seen (0: never taken)."""

    grant_no: int
    seen: int


class _Lease(Struct, frozen=True):
    turn: int
    until_s: float


class _Sighting(Struct, frozen=True):
    turn: int
    at_s: float


class Leases:
    """What a process holds and has seen of one sale's grants. Not safe for threads: its user has a lock."""

    def __init__(self) -> None:
        """Hold nothing, know nothing."""
        self._held: dict[int, _Lease] = {}
        self._seen: dict[int, _Sighting] = {}

    def allowed(self, grants: tuple[int, ...], now_s: float) -> int:
        """Return how many orders a second the running leases allow."""
        return sum(grants[no] for no, lease in self._held.items() if no < len(grants) and lease.until_s > now_s)

    def renewal(self, grants: tuple[int, ...], now_s: float, *, spare: int = 0) -> Wish | None:
        """Return a lease to take anew: it nears its end, and the `spare` orders a second do not make up for it."""
        for no, lease in self._held.items():
            if lease.until_s - now_s < RENEW_S and no < len(grants) and spare < grants[no]:
                return Wish(no, lease.turn)
        return None

    def wish(self, grants: tuple[int, ...], now_s: float, *, luck: float) -> Wish | None:
        """Return the grant that a process short of orders is to try for; None when there is none to gain now.

        `luck`, in [0, 1), spreads the processes over the grants.
        """
        renewal = self.renewal(grants, now_s)
        if renewal is not None:
            return renewal
        first = int(luck * len(grants))
        for step in range(len(grants)):
            no = (first + step) % len(grants)
            sighting = self._seen.get(no)
            if no not in self._held and (sighting is None or now_s - sighting.at_s >= TAKEOVER_S):
                return Wish(no, 0 if sighting is None else sighting.turn)
        return None

    def settle(self, grant_no: int, answer: GrantTurn, *, sent_s: float, now_s: float) -> None:
        """Note what became of a try that was sent at `sent_s`."""
        if answer.taken:
            self._held[grant_no] = _Lease(answer.turn, sent_s + LEASE_S)
            self._seen.pop(grant_no, None)
        else:
            self._held.pop(grant_no, None)
            self._seen[grant_no] = _Sighting(answer.turn, now_s)
