"""Staff pay back: one order, or all orders of a cancelled sale."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Response

from ingest.audit_trail import Actor
from ingest.change_sale import cancel_sale
from ingest.identity import STAFF_WRITE
from ingest.parts import Parts
from ingest.refund_answers import RefundAnswer, RefundPageAnswer, refund_answer
from ingest.refund_order import RefundWish, refund_order
from ingest.refund_sale import refund_page
from ingest.resolver import Resolver
from ingest.routes.answering import answer
from ingest.routes.documented import answers, needs
from ingest.staff_requests import RefundPageRequest, RefundRequest, SeatsThen
from ingest.staff_responses import StaffSaleAnswer, staff_sale_answer
from shared.domain.errors import Invalid
from shared.ports.control import SaleView

_SALE = "/v1/staff/sales/<event_id>"
_TAGS = ["staff"]


def register(app: Resolver, parts: Parts) -> None:
    """Put the routes of refunds on a resolver."""

    @app.post(
        f"{_SALE}/orders/<order_id>/refunds",
        summary="Pay an order back",
        description="With `total_minor` in part: that much in all, and the buyer keeps the tickets. Without it whole: "
        "the tickets are void and the seats are sold again or withheld. Never above what was captured; a repeated "
        "request changes nothing. A worker carries it out.",
        operation_id="refund_order",
        tags=_TAGS,
        security=needs(STAFF_WRITE),
        responses=answers(
            {202: (RefundAnswer, "The refund is ordered.")}, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, body=True
        ),
    )
    def refund(event_id: str, order_id: str, body: RefundRequest) -> Response[str]:
        if body.total_minor is not None and body.seats is not None:
            raise Invalid("Seats change hands with a whole refund only.", field="seats", code="seats-of-part")
        wish = RefundWish(body.total_minor, withhold=body.seats is SeatsThen.WITHHOLD)
        order = refund_order(parts, event_id, order_id, Actor(app.identity.subject), wish)
        return answer(HTTPStatus.ACCEPTED, refund_answer(order))

    @app.post(
        f"{_SALE}/cancel",
        summary="Call an event off for good",
        description="Who is in line is refused, held seats come back, nothing more is charged. Confirmed orders keep "
        "their money until it is ordered back.",
        operation_id="cancel_sale",
        tags=_TAGS,
        security=needs(STAFF_WRITE),
        responses=answers(
            {200: (StaffSaleAnswer, "The sale is cancelled.")}, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT
        ),
    )
    def cancel(event_id: str) -> Response[str]:
        sale = cancel_sale(parts, event_id, Actor(app.identity.subject))
        return answer(HTTPStatus.OK, staff_sale_answer(SaleView(sale, None), parts.clock.now_ms()))

    @app.post(
        f"{_SALE}/refund-page",
        summary="Pay back one page of a cancelled sale",
        description="Walks one shard; go on with `cursor` until there is none. Pages may be repeated and left off at "
        "any time. With `dry_run` it only counts.",
        operation_id="refund_page",
        tags=_TAGS,
        security=needs(STAFF_WRITE),
        responses=answers(
            {200: (RefundPageAnswer, "The page, as it stands now.")},
            HTTPStatus.NOT_FOUND,
            HTTPStatus.CONFLICT,
            body=True,
        ),
    )
    def page(event_id: str, body: RefundPageRequest) -> Response[str]:
        counted = refund_page(
            parts,
            event_id,
            Actor(app.identity.subject),
            shard=body.shard,
            cursor=body.cursor,
            limit=body.limit,
            dry_run=body.dry_run,
        )
        return answer(HTTPStatus.OK, RefundPageAnswer.model_validate(counted, from_attributes=True))
