"""One run of the simulation: what comes, what it meets, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from infra.model.capacity import OnDemand
from infra.model.limits import Assumptions, Limits
from infra.model.load import Arrivals, KeyGroup
from infra.model.retry_rules import RetryRules, our_rules

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A load on one table and, unless `index` is none, one index with the same partition keys.

    rising_sort, index_rising_sort: whether sort keys only rise (no split helps) or are random.
    accept_per_s: the door admits so many requests a second and refuses the rest with `Retry-After`.
    returns: how often a client comes back after a refusal, `return_after_s` (from, to) later.
    seed: draws the arrivals, the waits and where keys fall.
    """

    arrivals: Arrivals
    groups: tuple[KeyGroup, ...]
    table: OnDemand = field(default_factory=OnDemand)
    index: OnDemand | None = field(default_factory=OnDemand)
    write_units: float = 1
    index_units: float = 1
    rising_sort: bool = False
    index_rising_sort: bool = True
    has_local_index: bool = False
    limits: Limits = field(default_factory=Limits)
    assumed: Assumptions = field(default_factory=Assumptions)
    retries: RetryRules = field(default_factory=our_rules)
    accept_per_s: float | None = None
    returns: int = 10
    return_after_s: tuple[float, float] = (1.0, 3.0)
    seed: int = 0

    @property
    def table_arn(self) -> str:
        """Names the table, and with it where keys fall: another seed, another placement."""
        return f"table-{self.seed}"

    @property
    def index_arn(self) -> str:
        """Names the index."""
        return f"table-{self.seed}/index/work"

    @property
    def duration_s(self) -> float:
        """Seconds of virtual time: the arrivals, and time for the last to come back."""
        return self.arrivals.duration_s + self.return_after_s[1]

    def scaled(self, factor: float) -> Scenario:
        """The same wall and load at `factor` times the size; as many keys, partitions and seconds."""
        return replace(
            self,
            arrivals=self.arrivals.scaled(factor),
            limits=self.limits.scaled(factor),
            table=_scaled(self.table, factor),
            index=None if self.index is None else _scaled(self.index, factor),
            accept_per_s=None if self.accept_per_s is None else self.accept_per_s * factor,
        )


def _scaled(capacity: OnDemand, factor: float) -> OnDemand:
    def times(units: float | None) -> float | None:
        return None if units is None else units * factor

    return OnDemand(
        times(capacity.warm_write_units),
        times(capacity.warm_read_units),
        times(capacity.max_write_units),
        times(capacity.max_read_units),
    )


@dataclass(slots=True)
class Outcome:
    """Counts per second of virtual time, and totals.

    arrivals: new buyers. refused_at_door: answers 503 by admission. attempts, throttled, accepted:
    requests to the store, those refused, those served. failed: requests that ended in a 503 because the
    store throttled their last try. gave_up: buyers who never got through, or were still waiting at the end.
    heat, index_heat: units served per second by each partition, over its ceiling, over the whole run.
    """

    arrivals: Floats
    refused_at_door: Floats
    attempts: Floats
    throttled: Floats
    accepted: Floats
    failed: Floats
    gave_up: float = 0.0
    accepted_by_try: list[float] = field(default_factory=list)
    heat: Floats = field(default_factory=lambda: np.zeros(0))
    index_heat: Floats = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def empty(cls, seconds: int, tries: int) -> Outcome:
        """All zero."""
        arrivals, refused, attempts, throttled, accepted, failed = (np.zeros(seconds) for _ in range(6))
        return cls(arrivals, refused, attempts, throttled, accepted, failed, accepted_by_try=[0.0] * tries)

    @property
    def throttle_rate(self) -> float:
        """Throttled requests over all requests to the store."""
        attempts = float(self.attempts.sum())
        return float(self.throttled.sum()) / attempts if attempts else 0.0

    @property
    def accepted_share(self) -> float:
        """Buyers who got through, over all buyers."""
        arrivals = float(self.arrivals.sum())
        return float(self.accepted.sum()) / arrivals if arrivals else 0.0

    def retry_delay_s(self, rules: RetryRules, seed: int = 0) -> tuple[float, float]:
        """(mean, 99th percentile) that retries add to an accepted request."""
        counts = np.array(self.accepted_by_try)
        if not counts.sum():
            return 0.0, 0.0
        rng = np.random.default_rng(seed)
        size = 50_000
        tries = rng.choice(len(counts), size=size, p=counts / counts.sum())
        delays = np.zeros(size)
        for retry in range(len(counts) - 1):
            delays += np.where(tries > retry, rng.random(size) * rules.longest_wait_s(retry), 0.0)
        return float(delays.mean()), float(np.quantile(delays, 0.99))
