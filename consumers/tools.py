"""What every step of the back office works with, given from outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from shared.ports.payment import PaymentGateway
from shared.ports.store import Store
from shared.ports.system import Clock, Ids

# (event id, what was done, how often): counters for whoever watches.
Observer = Callable[[str, str, int], None]


class FanOut(Protocol):
    """Calls a function for each item, perhaps several at once, and returns the results in order."""

    def __call__(self, function: Callable[[Any], Any], items: Sequence[Any], /) -> Iterable[Any]:
        """Do it."""
        ...


def one_by_one(function: Callable[[Any], Any], items: Sequence[Any], /) -> Iterator[Any]:
    """Call in order and in this thread."""
    return map(function, items)


def unobserved(event_id: str, what: str, count: int) -> None:
    """Watch nothing."""


@dataclass(frozen=True, slots=True)
class Tools:
    """The sockets that steps use.

    `fan_out_reads` and `fan_out_writes` spread independent store calls where threads are allowed: reads pay for a
    store that is a network away, writes also for one that commits together what comes together.
    """

    store: Store
    gateway: PaymentGateway
    clock: Clock
    ids: Ids
    observe: Observer = unobserved
    fan_out_reads: FanOut = one_by_one
    fan_out_writes: FanOut = one_by_one
