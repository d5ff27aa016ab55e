"""What comes at the doors: how much per second, and on which keys."""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Arrivals:
    """New requests per second over time, as straight lines between `(at_s, per_s)` points.

    Two points at one time make a jump. Before the first point and after the last nothing comes.
    """

    points: tuple[tuple[float, float], ...]

    @property
    def duration_s(self) -> float:
        """Seconds until the last request may come."""
        return self.points[-1][0]

    @property
    def peak_per_s(self) -> float:
        """The highest rate."""
        return max(rate for _, rate in self.points)

    def rate_at(self, at_s: float) -> float:
        """Requests per second at a time."""
        after = bisect_right(self.points, at_s, key=lambda point: point[0])
        if after in (0, len(self.points)):
            return 0.0
        (from_s, low), (to_s, high) = self.points[after - 1], self.points[after]
        return low + (high - low) * (at_s - from_s) / (to_s - from_s)

    def scaled(self, factor: float) -> Arrivals:
        """The same shape, every rate multiplied."""
        return Arrivals(tuple((at_s, rate * factor) for at_s, rate in self.points))


def step(per_s: float, duration_s: float) -> Arrivals:
    """The full rate from the first instant: a sale opens."""
    return Arrivals(((0.0, per_s), (duration_s, per_s)))


def ramp(from_per_s: float, to_per_s: float, ramp_s: float, duration_s: float) -> Arrivals:
    """A straight climb, then the full rate."""
    return Arrivals(((0.0, from_per_s), (ramp_s, to_per_s), (duration_s, to_per_s)))


def opening(buyers: int, within_s: float, then_per_s: float, duration_s: float) -> Arrivals:
    """So many buyers within the first moment, then a lower rate."""
    high = buyers / within_s
    return Arrivals(((0.0, high), (within_s, high), (within_s, then_per_s), (duration_s, then_per_s)))


def bursts(base_per_s: float, factor: float, every_s: float, length_s: float, duration_s: float, seed: int) -> Arrivals:
    """A base rate with bursts of `factor` times it, at Poisson times `every_s` apart on average."""
    dice = random.Random(seed)
    points = [(0.0, base_per_s)]
    at_s = dice.expovariate(1 / every_s)
    while at_s < duration_s:
        end_s = min(at_s + length_s, duration_s)
        points += [(at_s, base_per_s), (at_s, base_per_s * factor)]
        points += [(end_s, base_per_s * factor), (end_s, base_per_s)]
        at_s = end_s + dice.expovariate(1 / every_s)
    return Arrivals((*points, (duration_s, base_per_s)))


@dataclass(frozen=True, slots=True)
class KeyGroup:
    """A set of partition keys `name#0`, `name#1`, … that share a part of all requests.

    share: part of all requests, 0 to 1; the shares of a load sum to 1.
    weights: how the part is spread over the keys.
    bucket_s: the keys are named after the time too and change every so many seconds.
    """

    name: str
    share: float
    weights: tuple[float, ...]
    bucket_s: float | None = None

    def key(self, number: int, at_s: float) -> bytes:
        """The partition key of the group's n-th key at a time."""
        if self.bucket_s is None:
            return f"{self.name}#{number}".encode()
        return f"{self.name}#{int(at_s // self.bucket_s)}#{number}".encode()


def random_suffixes(name: str, keys: int, share: float = 1.0) -> KeyGroup:
    """Uniformly random suffixes, such as the hash of an unguessable id: every key alike."""
    return KeyGroup(name, share, (1 / keys,) * keys)


def calculated_suffixes(name: str, keys: int, values: int, seed: int, share: float = 1.0) -> KeyGroup:
    """Suffixes calculated from a property with only so many values (a seat block, a city)."""
    dice = random.Random(seed)
    counts = Counter(dice.randrange(keys) for _ in range(values))
    return KeyGroup(name, share, tuple(counts[i] / values for i in range(keys)))


def time_buckets(name: str, keys: int, bucket_s: float, share: float = 1.0) -> KeyGroup:
    """Keys named after the time: all load lands on the newest."""
    return KeyGroup(name, share, (1 / keys,) * keys, bucket_s)


def bots_on_one_key(name: str, keys: int, bot_share: float) -> tuple[KeyGroup, KeyGroup]:
    """Random suffixes, and robots that all ask for the one key of their choice."""
    return random_suffixes(name, keys, 1 - bot_share), random_suffixes(f"{name}-bots", 1, bot_share)


def several_events(name: str, keys: int, shares: Sequence[float]) -> tuple[KeyGroup, ...]:
    """Several sales at once on one table, each with `keys` random suffixes."""
    return tuple(random_suffixes(f"{name}{i}", keys, part) for i, part in enumerate(shares))
