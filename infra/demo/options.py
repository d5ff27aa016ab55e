"""What a demo run is asked to be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from infra.load.buyers import Mix

EVENT = "demo"
# Long enough for the payments of a whole house of seats on a small machine, short enough that the seats of those who
# vanish come back within a minute, twice or three times over.
HOLD_TTL_S = 12
# Nobody vanishes in a calm sale, so nothing waits for the end of a hold.
CALM_HOLD_TTL_S = 120


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """One demo run; `seats` None means two for every five buyers."""

    data: Path
    buyers: int = 2000
    seats: int | None = None
    shards: int = 8
    slices: int = 1
    workers: int = 2
    party_max: int = 4
    calm: bool = False
    store: str = "sqlite"
    seed: int = 0
    kill_workers: bool = False
    payment_chaos: bool = False
    hold_ttl_s: int | None = None
    partition_limits: float | None = None

    @property
    def capacity(self) -> int:
        """Seats on sale."""
        return self.seats if self.seats is not None else max(1, self.buyers * 2 // 5)

    @property
    def hold_s(self) -> int:
        """How long a hold lasts, in seconds."""
        if self.hold_ttl_s is not None:
            return self.hold_ttl_s
        return CALM_HOLD_TTL_S if self.calm else HOLD_TTL_S

    @property
    def receipts(self) -> Path:
        """Where the buyers' receipts go."""
        return self.data / "receipts.jsonl"

    @property
    def mix(self) -> Mix:
        """Who the buyers are."""
        return Mix.calm(self.party_max) if self.calm else Mix(party_max=self.party_max)
