"""What one generator process is told to do, as one line of JSON on its standard input."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from infra.load.buyers import Mix


@dataclass(frozen=True, slots=True)
class Job:
    """Buyers `first` to `first + count - 1` against one event.

    Tokens come from `tokens_file` (one a line, line n for buyer n) or are minted with the key in `token_dir`.
    With `payment_url` buyers without a card pay by hand there.
    """

    url: str
    event_id: str
    seed: int
    first: int
    count: int
    spread_s: float
    within_s: float
    mix: Mix
    receipts: str
    rude: bool = False
    token_dir: str | None = None
    tokens_file: str | None = None
    payment_url: str | None = None
    publishable_key: str | None = None

    def to_line(self) -> str:
        """Write the job."""
        return json.dumps(asdict(self))

    @classmethod
    def from_line(cls, line: str) -> Job:
        """Read a job."""
        value: dict[str, Any] = json.loads(line)
        value["mix"] = Mix.from_json(value["mix"])
        return cls(**value)
