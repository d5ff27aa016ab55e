"""What the receipts say in figures: counts, pace and latency, all measured at the buyers' side."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from infra.load.receipts import Kind, read_receipts

ACCEPTED = 202
_NO_ANSWER = 0
_UNAVAILABLE = 503
_SERVER_ERROR = 500
# The pace is measured until nine of ten orders are in: the last ones wait for their own Retry-After.
MOST = 0.9


@dataclass(frozen=True, slots=True)
class Summary:
    """Figures of one stampede.

    `accepted` are orders with a 202, `refused` buyers who were finally turned away, `gave_up` buyers without a final
    answer. `accepted_per_s` runs from the first accepted answer to that of the ninth tenth, `accepted_in_one_second` is
    the most of them within any second. Latencies run from the press, or the return, of a buyer to the 202, a wait for a
    connection included.
    """

    accepted: int
    refused: int
    gave_up: int
    retried: int
    repeated: int
    no_answers: int
    server_errors: int
    bare_503: int
    accepted_per_s: float
    accepted_in_one_second: int
    accept_ms_p50: float
    accept_ms_p99: float
    read_ms_p50: float
    read_ms_p99: float
    statuses: dict[str, int]
    problems: dict[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        return asdict(self)


def summarise(path: Path) -> Summary:
    """Read a receipts file once."""
    accepted_at: list[int] = []
    accept_ms: list[float] = []
    read_ms: list[float] = []
    orders: set[str] = set()
    counts: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    problems: Counter[str] = Counter()
    for receipt in read_receipts(path):
        orders.update(receipt.order_ids)
        last = None
        for answer in receipt.answers:
            statuses[f"{answer.kind} {answer.status}"] += 1
            if answer.problem:
                problems[answer.problem.rpartition(":")[2]] += 1
            counts["no_answers"] += answer.status == _NO_ANSWER
            counts["server_errors"] += answer.status >= _SERVER_ERROR and answer.status != _UNAVAILABLE
            counts["bare_503"] += answer.status == _UNAVAILABLE and answer.retry_after_s is None
            counts["repeated"] += answer.kind is Kind.REPEAT
            if answer.kind is Kind.PLACE:
                counts["retried"] += last is not None
                last = answer.status
                if last == ACCEPTED:
                    accepted_at.append(answer.at_ms)
                    accept_ms.append(answer.ms)
            elif answer.kind is Kind.READ and answer.status not in {_NO_ANSWER, _UNAVAILABLE}:
                read_ms.append(answer.ms)
        if last is not None and not receipt.order_ids:
            counts["gave_up" if last in {0, 429, _UNAVAILABLE} else "refused"] += 1
    return Summary(
        accepted=len(orders),
        refused=counts["refused"],
        gave_up=counts["gave_up"],
        retried=counts["retried"],
        repeated=counts["repeated"],
        no_answers=counts["no_answers"],
        server_errors=counts["server_errors"],
        bare_503=counts["bare_503"],
        accepted_per_s=_pace(accepted_at),
        accepted_in_one_second=most_within(accepted_at, 1000),
        accept_ms_p50=percentile(accept_ms, 0.50),
        accept_ms_p99=percentile(accept_ms, 0.99),
        read_ms_p50=percentile(read_ms, 0.50),
        read_ms_p99=percentile(read_ms, 0.99),
        statuses=dict(sorted(statuses.items())),
        problems=dict(sorted(problems.items())),
    )


def percentile(values: list[float], share: float) -> float:
    """Return the smallest value that `share` of them do not exceed; 0 for none."""
    if not values:
        return 0.0
    values = sorted(values)
    return round(values[min(len(values) - 1, int(share * len(values)))], 2)


def _pace(times_ms: list[int]) -> float:
    if len(times_ms) < 2:  # noqa: PLR2004 - one order has no pace
        return float(len(times_ms))
    times_ms = sorted(times_ms)
    counted = max(2, int(MOST * len(times_ms)))
    return round(counted / max(0.001, (times_ms[counted - 1] - times_ms[0]) / 1000), 1)


def most_within(times_ms: Iterable[int], window_ms: int) -> int:
    """Return the most times that lie less than a window apart."""
    recent: deque[int] = deque()
    most = 0
    for at_ms in sorted(times_ms):
        recent.append(at_ms)
        while recent[0] <= at_ms - window_ms:
            recent.popleft()
        most = max(most, len(recent))
    return most
