"""What goes wrong on demand, and the dice that decide when.

A draw depends on the seed, the fault and what it strikes (an idempotency key, an event), not on the order in which
requests happen to arrive, so that a run can be repeated.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

# Draws remembered, so that a repeated request is drawn for anew; past it the memory starts over.
DRAWS_MAX = 200_000
DURATION_MAX_S = 3600.0


def _share(meaning: str) -> float:
    return field(default=0.0, metadata={"kind": "fraction", "help": meaning})


def _duration(meaning: str, default_s: float = 0.0) -> float:
    return field(default=default_s, metadata={"kind": "duration", "help": meaning})


@dataclass(frozen=True, slots=True)
class Faults:
    """The knobs. Names ending in `_s` are seconds, all others fractions of requests or events between 0 and 1."""

    latency_s: float = _duration("wait before every request")
    latency_random_s: float = _duration("wait up to this much more, evenly drawn")
    answer_delay_s: float = _duration("wait between the commit and the answer")
    search_lag_s: float = _duration("how late a new intent shows up in a search")
    error_before: float = _share("answer 500 and do nothing")
    error_after: float = _share("do it, then answer 500; the key keeps the 500, as Stripe's does")
    error_kept: float = _share("do nothing, answer 500, and keep that 500 under the key")
    rate_limited: float = _share("answer 429 and do nothing")
    drop_before: float = _share("close the connection and do nothing")
    drop_after: float = _share("do it, then close the connection without an answer")
    answer_twice: float = _share("carry a request out twice, as if a proxy repeated it; answer the second time")
    forget_key: float = _share("do not remember an idempotency key that was used before")
    decline: float = _share("decline a confirmation whatever the card")
    webhook_lost: float = _share("never deliver an event")
    webhook_doubled: float = _share("deliver an event twice")
    webhook_delayed: float = _share("deliver an event late, by up to webhook_delay_max_s")
    webhook_delay_max_s: float = _duration("longest extra delay of an event", 5.0)
    webhook_reordered: float = _share("hold an event back until a later one of its intent was delivered")
    webhook_reorder_wait_s: float = _duration("longest time an event is held back for a later one", 2.0)

    def with_changes(self, changes: Mapping[str, Any]) -> "Faults":
        """The knobs with some turned; raises `ValueError` naming the knob and what it takes."""
        for name, value in changes.items():
            check_knob(name, value)
        return replace(self, **{name: float(value) for name, value in changes.items()})

    def as_dict(self) -> dict[str, float]:
        """The knobs by name."""
        return asdict(self)


KNOBS = {knob.name: knob for knob in fields(Faults)}


def check_knob(name: str, value: object) -> None:
    """Raise `ValueError` with a sentence when there is no such knob or it cannot be turned to `value`."""
    if name not in KNOBS:
        raise ValueError(f"There is no knob '{name}'; there are {', '.join(KNOBS)}.")
    most = 1.0 if KNOBS[name].metadata["kind"] == "fraction" else DURATION_MAX_S
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ValueError(f"The knob '{name}' takes a number from 0 to {most:g}.")


class Dice:
    """Even draws from [0, 1) that can be repeated with the same seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._drawn: Counter[tuple[str, str]] = Counter()

    def draw(self, name: str, subject: str) -> float:
        """The next draw for this fault and subject."""
        if len(self._drawn) >= DRAWS_MAX:
            self._drawn.clear()
        self._drawn[name, subject] += 1
        text = f"{self.seed}|{name}|{subject}|{self._drawn[name, subject]}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest()) / 2**56

    def strikes(self, fraction: float, name: str, subject: str) -> bool:
        """Whether a fault that strikes this fraction strikes this subject now."""
        return fraction > 0 and self.draw(name, subject) < fraction
