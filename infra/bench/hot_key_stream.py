"""A made-up stream of changes with a heavy-tailed crowd, and its own books of what it contains."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

# Orders under way that may still take a step; bounds the memory of the generator.
MAX_OPEN = 2_000
# One in two records is an arrival: an order takes one step after it on average, while the crowd lasts.
ARRIVALS = 0.5
FIRST_SEQUENCE = 10**20
EVENTS = ("arena", "theatre", "club", "fair", "cinema")
SHARDS = 128
STREAM_SHARDS = 16
_STEPS = {"queued": ("held", "held", "rejected"), "held": ("confirmed", "expired")}


@dataclass(slots=True)
class Books:
    """What the stream really held, counted while it was made and by other means than the statistics use."""

    writes: int = 0
    arrivals: int = 0
    keys: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    buyers: Counter[str] = field(default_factory=Counter)
    steps: Counter[str] = field(default_factory=Counter)


class Stream:
    """Makes records in the order of their sequence numbers."""

    def __init__(self, *, buyers: int, skew: float, seed: int) -> None:
        """Draw buyers by Zipf's law with exponent `skew`: the n-th heaviest is n^-skew as frequent as the first."""
        self.books = Books()
        self._random = random.Random(seed)
        self._buyers = range(buyers)
        self._weights = list(accumulate((rank + 1) ** -skew for rank in range(buyers)))
        self._event_weights = [16, 8, 4, 2, 1]
        self._open: list[tuple[dict[str, Any], str, str]] = []
        self._number = 0

    def records(self, count: int, at_ms: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Make `count` records of one moment, each with the number of its stream shard."""
        for _ in range(count):
            self._number += 1
            if not self._open or (len(self._open) < MAX_OPEN and self._random.random() < ARRIVALS):
                yield self._arrival(at_ms)
            else:
                yield self._step(at_ms)

    def _arrival(self, at_ms: int) -> tuple[int, dict[str, Any]]:
        (buyer_no,) = self._random.choices(self._buyers, cum_weights=self._weights)
        (event_id,) = self._random.choices(EVENTS, self._event_weights)
        key = f"{event_id}#{self._random.randrange(SHARDS)}"
        order_id = f"1-{self._random.getrandbits(128):032x}"
        image = {
            "pk": {"S": key},
            "sk": {"S": order_id},
            "buyer": {"S": f"auth0|{buyer_no:024x}"},
            "status": {"S": "queued"},
            "work": {"S": f"line#{at_ms:013d}#{order_id}"},
            "amount": {"N": "2500"},
        }
        self.books.arrivals += 1
        self._note(image, event_id, "new>queued")
        self._keep(image, event_id)
        return self._record("INSERT", None, image, at_ms)

    def _step(self, at_ms: int) -> tuple[int, dict[str, Any]]:
        at = self._random.randrange(len(self._open))
        self._open[at], self._open[-1] = self._open[-1], self._open[at]
        old, event_id, status = self._open.pop()
        after = self._random.choice(_STEPS[status])
        new = {**old, "status": {"S": after}}
        del new["work"]
        if after == "held":
            new["work"] = {"S": f"timer#{at_ms:013d}#{old['sk']['S']}"}
        self._note(new, event_id, f"{status}>{after}")
        self._keep(new, event_id)
        return self._record("MODIFY", old, new, at_ms)

    def _note(self, image: dict[str, Any], event_id: str, step: str) -> None:
        self.books.writes += 1
        self.books.keys[image["pk"]["S"]] += 1
        self.books.events[event_id] += 1
        self.books.buyers[image["buyer"]["S"]] += 1
        self.books.steps[step] += 1

    def _keep(self, image: dict[str, Any], event_id: str) -> None:
        status = image["status"]["S"]
        if status in _STEPS:
            self._open.append((image, event_id, status))

    def _record(
        self, name: str, old: dict[str, Any] | None, new: dict[str, Any], at_ms: int
    ) -> tuple[int, dict[str, Any]]:
        change: dict[str, Any] = {
            "ApproximateCreationDateTime": at_ms / 1000,
            "Keys": {"pk": new["pk"], "sk": new["sk"]},
            "NewImage": new,
            "SequenceNumber": str(FIRST_SEQUENCE + self._number),
        }
        if old is not None:
            change["OldImage"] = old
        stream_shard = zlib.crc32(new["pk"]["S"].encode()) % STREAM_SHARDS
        return stream_shard, {"eventName": name, "eventSource": "aws:dynamodb", "dynamodb": change}
