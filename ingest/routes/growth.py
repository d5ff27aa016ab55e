"""Staff: change the size of a running sale, its shards and its seats."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Response

from ingest.audit_trail import Actor
from ingest.change_pool import change_capacity, change_withheld
from ingest.change_sale import standing_sale
from ingest.identity import STAFF_WRITE
from ingest.parts import Parts
from ingest.reshard_sale import reshard_sale
from ingest.resolver import Resolver
from ingest.routes.answering import answer
from ingest.routes.documented import answers, needs
from ingest.staff_requests import PoolChangeRequest, ReshardRequest
from ingest.staff_responses import StaffSaleAnswer, staff_sale_answer
from shared.domain.errors import Invalid
from shared.ports.control import SaleView

_SALE = "/v1/staff/sales/<event_id>"
_TAGS = ["staff"]


def register(app: Resolver, parts: Parts) -> None:
    """Put the routes of growth on a resolver."""
    described = answers(
        {200: (StaffSaleAnswer, "The sale after the change.")}, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, body=True
    )

    @app.post(
        f"{_SALE}/reshard",
        summary="Grow the shard count",
        description="At any time, twice in a sale's life. Orders stay where they are, and repeated requests find them.",
        operation_id="reshard_sale",
        tags=_TAGS,
        security=needs(STAFF_WRITE),
        responses=described,
    )
    def reshard(event_id: str, body: ReshardRequest) -> Response[str]:
        sale = reshard_sale(parts, event_id, Actor(app.identity.subject), shards=body.shards)
        return answer(HTTPStatus.OK, staff_sale_answer(SaleView(sale, None), parts.clock.now_ms()))

    @app.post(
        f"{_SALE}/pools/<pool_id>",
        summary="Change a pool's seats",
        description="More seats go to the line before the public; fewer are refused below held + confirmed + withheld, "
        "and the answer names the lowest number possible. Withheld seats are not sold until they are released.",
        operation_id="change_pool",
        tags=_TAGS,
        security=needs(STAFF_WRITE),
        responses=described,
    )
    def change_pool(event_id: str, pool_id: str, body: PoolChangeRequest) -> Response[str]:
        actor = Actor(app.identity.subject)
        if body.capacity is not None and body.withheld is None:
            pool = change_capacity(parts, event_id, pool_id, actor, capacity=body.capacity)
        elif body.withheld is not None and body.capacity is None:
            pool = change_withheld(parts, event_id, pool_id, actor, withheld=body.withheld)
        else:
            raise Invalid("Name either `capacity` or `withheld`.", field="capacity", code="one-figure")
        view = standing_sale(parts, event_id)
        return answer(HTTPStatus.OK, staff_sale_answer(view, parts.clock.now_ms(), (pool,)))
