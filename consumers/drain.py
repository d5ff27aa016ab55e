"""Lambda entry of the back office: works until nothing is to do, or until the invocation's time is nearly up.

A schedule invokes it, and the stream of new orders does so sooner. What the stream delivers is not read: what is to do
stands in the table. Several at a time share the work as any workers do.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from consumers.office import Office, open_office
from consumers.worker import QUIET_S, drain

# Left for what has begun (a payment call waits 10 s at most by default) and for leaving.
ENDING_S = 15.0
READING_THREADS = 8


def handler(event: object, context: LambdaContext) -> dict[str, Any]:  # noqa: ARG001 - the event only wakes
    """Drain; return whether all was done, and what was done by event."""
    office = _office()
    name = f"drain-{context.aws_request_id}"
    done = drain_for(office, name, context.get_remaining_time_in_millis() / 1000)
    return {"done": done}


def drain_for(office: Office, name: str, time_left_s: float, *, quiet_s: float = QUIET_S) -> bool:
    """Drain within the time that is left, keeping some of it for the end; say whether all was done."""
    deadline_s = max(time_left_s / 2, time_left_s - ENDING_S)
    try:
        done = drain(office.tools, name, deadline_s=deadline_s, quiet_s=quiet_s, reading_threads=READING_THREADS)
    finally:
        office.report()
    return done


@cache
def _office() -> Office:
    return open_office()
