"""Staff look behind the scenes: who is hot, what is throttled, and how one order has come."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query

from ingest.hot_key_answers import HotKeysAnswer, hot_keys_answer
from ingest.identity import STAFF_READ
from ingest.parts import Parts
from ingest.read_order import read_order
from ingest.resolver import Resolver
from ingest.routes.answering import answer
from ingest.routes.documented import answers, needs
from ingest.throttle_answers import ThrottlesAnswer, throttles_answer
from ingest.trace_answers import TraceAnswer, trace_answer
from shared.domain.errors import Unavailable
from shared.hot_keys import MAX_RANGE_S, MAX_TOP, look_at_hot_keys

_TAGS = ["staff"]


def register(app: Resolver, parts: Parts) -> None:
    """Put the routes on a resolver."""

    @app.get(
        "/v1/staff/throttles",
        summary="Look at throttles",
        description="Every attempt at the store counts, repeated ones included; `throttle_rate` is throttled attempts "
        "over attempts. On one machine these are the counts of all its processes since they started; on AWS those of "
        "the process that answers, and the dashboard has the sums.",
        operation_id="read_throttles",
        tags=_TAGS,
        security=needs(STAFF_READ),
        responses=answers({200: (ThrottlesAnswer, "The counts, explained.")}),
    )
    def throttles() -> Response[str]:
        now_ms = parts.clock.now_ms()
        snapshots = parts.insight.snapshots(now_ms)
        shown = throttles_answer(snapshots, _shards_of(parts), now_ms, scale=parts.limits_scale)
        return answer(HTTPStatus.OK, shown)

    @app.get(
        "/v1/staff/hot-keys",
        summary="Look at hot keys",
        description="The hottest keys, events and buyers of the last minutes, how evenly shards are used, and what to "
        "do, as counted from the stream of changes.",
        operation_id="read_hot_keys",
        tags=_TAGS,
        security=needs(STAFF_READ),
        responses=answers({200: (HotKeysAnswer, "The report.")}, HTTPStatus.UNPROCESSABLE_ENTITY),
    )
    def hot_keys(
        seconds: Annotated[int, Query(ge=1, le=MAX_RANGE_S, description="How far back to look.")] = 300,
        top: Annotated[int, Query(ge=1, le=MAX_TOP, description="How many names of each kind.")] = 20,
    ) -> Response[str]:
        now_ms = parts.clock.now_ms()
        stats = parts.insight.open_stats()
        report = look_at_hot_keys(stats, now_ms=now_ms, range_s=seconds, top=top, shards_of=_shards_of(parts))
        return answer(HTTPStatus.OK, hot_keys_answer(report, now_ms))

    @app.get(
        "/v1/staff/events/<event_id>/orders/<order_id>/trace",
        summary="Trace an order",
        description="The order's whole life, a row per step with its time, and what is still due: one consistent read "
        "of the order's own item. It names no buyer.",
        operation_id="trace_order",
        tags=_TAGS,
        security=needs(STAFF_READ),
        responses=answers({200: (TraceAnswer, "The trace.")}, HTTPStatus.NOT_FOUND),
    )
    def trace(event_id: str, order_id: str) -> Response[str]:
        order, _ = read_order(parts, event_id, order_id, app.identity)
        return answer(HTTPStatus.OK, trace_answer(order))


def _shards_of(parts: Parts) -> Mapping[str, int]:
    """Ask the sales for their shard counts; a store in trouble is what is looked at here, so it may keep silent."""
    try:
        return {view.sale.event_id: view.sale.shards for view in parts.store.list_sales()}
    except Unavailable:
        return {}
