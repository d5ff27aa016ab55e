"""How long a cold start loads: the ingest handler against the libraries that it cannot do without.

The handler's side loads the DynamoDB store as well, as its first request does on Lambda; it would be no comparison with
boto3 otherwise. Every import takes place in an interpreter of its own, both sides taking turns.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from infra.bench.where_and_when import where_and_when

RATIO = 1.3
HANDLER = """
import ingest.handler
from shared.collector import paused
with paused():
    import shared.stores.dynamo.store
"""
HANDLER_ALONE = "import ingest.handler"
YARDSTICK = """
import boto3, pydantic
from aws_lambda_powertools import Logger
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from aws_lambda_powertools.event_handler.middlewares.openapi_validation import OpenAPIRequestValidationMiddleware
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
"""
_TIMED = """
import time
began_s = time.perf_counter()
{}
print((time.perf_counter() - began_s) * 1000)
"""


def run(*, runs: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure; times are medians in milliseconds."""
    sides = {"handler_ms": HANDLER, "handler_alone_ms": HANDLER_ALONE, "yardstick_ms": YARDSTICK}
    times: dict[str, list[float]] = {side: [] for side in sides}
    for statement in sides.values():
        _import_ms(statement)  # writes the byte code and fills the page cache
    for number in range(runs):
        for side, statement in sides.items():
            times[side].append(_import_ms(statement))
        say(f"Run {number + 1} of {runs} is measured.")
    medians = {side: round(statistics.median(values), 1) for side, values in times.items()}
    ratio = statistics.median(
        handler / yardstick for handler, yardstick in zip(times["handler_ms"], times["yardstick_ms"], strict=True)
    )
    return {
        **where_and_when(),
        "against": "boto3, pydantic and the parts of Powertools that the handler uses, in fresh interpreters",
        "ratio": round(ratio, 3),
        **medians,
    }


def _import_ms(statement: str) -> float:
    done = subprocess.run(  # noqa: S603 - our own interpreter and our own words
        [sys.executable, "-W", "ignore", "-c", _TIMED.format(statement)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)
