"""When a client may come back: as the answer says, and never all at the same moment."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

# A refusal without Retry-After comes from a gateway before the door: come back after one to three seconds.
BARE_WAIT_S = (1.0, 3.0)
# On top of what the answer says, so that those who were told the same do not return together.
JITTER = 0.25
# A rude bot hammers, but one socket can do no more than this.
RUDE_WAIT_S = 0.02
RUDE_POLL_S = 0.2
AGAIN_STATUSES = frozenset({0, 429, 503})


@dataclass(frozen=True, slots=True)
class Manners:
    """A client's way of waiting."""

    dice: Random
    rude: bool = False

    def before_retry_s(self, retry_after_s: float | None) -> float:
        """Return how long to wait before the same request goes out again under the same key."""
        if self.rude:
            return RUDE_WAIT_S
        if retry_after_s is None:
            return self.dice.uniform(*BARE_WAIT_S)
        return retry_after_s * (1 + JITTER * self.dice.random())

    def before_poll_s(self, poll_after_s: float | None) -> float:
        """Return how long to wait before the order is read again."""
        if self.rude:
            return RUDE_POLL_S
        return self.dice.uniform(*BARE_WAIT_S) if poll_after_s is None else poll_after_s
