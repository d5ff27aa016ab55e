"""How long a cold start loads: the ingest handler against the libraries that it cannot do without.

The handler's side loads the DynamoDB store as well, as its first request does on Lambda; it would be no comparison with
boto3 otherwise. Every import takes place in an interpreter of its own, the sides taking turns, with bytecode that was
written just before, whatever the environment says about writing it; one side shows what a start costs without any.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from tempfile import TemporaryDirectory
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
BARE = "handler_without_bytecode_ms"
_ABOUT_BYTECODE = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
_TIMED = """
import time
began_s = time.perf_counter()
{}
print((time.perf_counter() - began_s) * 1000)
"""


def run(*, runs: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Measure; times are medians in milliseconds."""
    sides = {"handler_ms": HANDLER, "handler_alone_ms": HANDLER_ALONE, "yardstick_ms": YARDSTICK}
    times: dict[str, list[float]] = {side: [] for side in (*sides, BARE)}
    with TemporaryDirectory(prefix="onsale-bytecode-") as bytecode, TemporaryDirectory() as empty:
        for statement in sides.values():
            import_ms(statement, bytecode, write=True)
        for number in range(runs):
            for side, statement in sides.items():
                times[side].append(import_ms(statement, bytecode))
            times[BARE].append(import_ms(HANDLER, empty))
            say(f"Run {number + 1} of {runs} is measured.")
    medians = {side: round(statistics.median(values), 1) for side, values in times.items()}
    ratio = statistics.median(
        handler / yardstick for handler, yardstick in zip(times["handler_ms"], times["yardstick_ms"], strict=True)
    )
    return {
        **where_and_when(),
        "against": "boto3, pydantic and the parts of Powertools that the handler uses, in fresh interpreters; the "
        "ratio is the median of the rounds' ratios",
        "ratio": round(ratio, 3),
        **medians,
    }


def import_ms(statement: str, bytecode: str, *, write: bool = False) -> float:
    """Run a statement in an interpreter that takes bytecode from this folder only."""
    environment = {name: value for name, value in os.environ.items() if name not in _ABOUT_BYTECODE}
    environment |= {"PYTHONPYCACHEPREFIX": bytecode} | ({} if write else {"PYTHONDONTWRITEBYTECODE": "1"})
    done = subprocess.run(  # noqa: S603 - our own interpreter and our own words
        [sys.executable, "-W", "ignore", "-c", _TIMED.format(statement)],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    return float(done.stdout)
