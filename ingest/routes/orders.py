"""Orders: place, read, cancel."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Response

from ingest.cancel_order import cancel_order
from ingest.idempotency_key import HEADER, read_idempotency_key
from ingest.identity import BUY, STAFF_READ
from ingest.order_rules import OrderWish
from ingest.parts import Parts
from ingest.place_order import place_order
from ingest.read_order import read_order
from ingest.requests import OrderRequest
from ingest.resolver import Resolver
from ingest.responses import OrderAnswer
from ingest.routes.answering import answer
from ingest.routes.documented import answers, needs
from ingest.routes.showing import show_order
from shared.domain.order import Status

_ORDERS = "/v1/events/<event_id>/orders"
_ORDER = "/v1/events/<event_id>/orders/<order_id>"
_TAGS = ["orders"]


def register(app: Resolver, parts: Parts) -> None:
    """Put the routes of orders on a resolver."""

    @app.post(
        _ORDERS,
        summary="Place an order",
        description="Takes the order and answers at once; seats and payment follow. Repeat a request whose answer was "
        "lost under the same `Idempotency-Key`: it is answered as the first one was. Two requests without a key are "
        "two orders.",
        operation_id="place_order",
        tags=_TAGS,
        enable_validation=False,
        security=needs(BUY),
        responses=answers(
            {202: (OrderAnswer, "The order is stored and in line.")},
            HTTPStatus.NOT_FOUND,
            HTTPStatus.CONFLICT,
            HTTPStatus.TOO_MANY_REQUESTS,
            body=True,
            headers={"Location": "Where to read the order."},
        ),
    )
    def place(event_id: str, body: OrderRequest) -> Response[str]:
        wish = OrderWish(
            event_id=event_id,
            buyer_id=app.identity.subject,
            idempotency_key=read_idempotency_key(app.header(HEADER)),
            lines=tuple((line.ticket_type_id, line.quantity) for line in body.lines),
            payment_method=body.payment_method,
            holder=body.holder,
            fingerprint=body.fingerprint(),
            correlation_id=app.correlation_id,
        )
        placed = place_order(parts, wish)
        order = placed.order
        app.outcome = "accepted" if placed.created else "repeated"
        # Counted by outcome all the same; a line an order costs a quarter of all it takes to accept one.
        parts.logger.debug(
            "order accepted" if placed.created else "order repeated",
            extra={
                "action": "place_order",
                "event_id": event_id,
                "order_id": order.key.order_id,
                "shard": order.key.shard,
                "correlation_id": app.correlation_id,
            },
        )
        shown = show_order(parts, order, placed.view, own=True)
        return answer(HTTPStatus.ACCEPTED, shown, location=f"/v1/events/{event_id}/orders/{order.key.order_id}")

    @app.get(
        _ORDER,
        summary="Read an order",
        description="For its buyer and for staff; nobody else learns that it exists. Look again after `poll_after_s`.",
        operation_id="read_order",
        tags=_TAGS,
        enable_validation=False,
        security=needs(BUY, STAFF_READ),
        responses=answers({200: (OrderAnswer, "How the order stands.")}, HTTPStatus.NOT_FOUND),
    )
    def read(event_id: str, order_id: str) -> Response[str]:
        order, view = read_order(parts, event_id, order_id, app.identity)
        return answer(HTTPStatus.OK, show_order(parts, order, view, own=order.buyer_id == app.identity.subject))

    @app.delete(
        _ORDER,
        summary="Cancel an order",
        description="An order in line is cancelled at once. For one whose seats are held the wish is stored: a worker "
        "closes the payment and gives the seats back, unless the money was faster.",
        operation_id="cancel_order",
        tags=_TAGS,
        enable_validation=False,
        security=needs(BUY),
        responses=answers(
            {200: (OrderAnswer, "The order is cancelled."), 202: (OrderAnswer, "The wish is stored.")},
            HTTPStatus.NOT_FOUND,
            HTTPStatus.CONFLICT,
        ),
    )
    def cancel(event_id: str, order_id: str) -> Response[str]:
        order, view = cancel_order(parts, event_id, order_id, app.identity.subject)
        done = order.status is Status.CANCELLED
        return answer(HTTPStatus.OK if done else HTTPStatus.ACCEPTED, show_order(parts, order, view, own=True))
