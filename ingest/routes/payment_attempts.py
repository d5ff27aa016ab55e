"""Another try by the buyer whose card was declined."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Response

from ingest.idempotency_key import HEADER, read_idempotency_key
from ingest.identity import BUY
from ingest.parts import Parts
from ingest.requests import PaymentAttemptRequest
from ingest.resolver import Resolver
from ingest.responses import OrderAnswer
from ingest.routes.answering import answer
from ingest.routes.documented import answers, needs
from ingest.routes.showing import show_order
from ingest.try_payment import try_payment


def register(app: Resolver, parts: Parts) -> None:
    """Put the route on a resolver."""

    @app.post(
        "/v1/events/<event_id>/orders/<order_id>/payment-attempts",
        summary="Try another card",
        description="For an order whose card was declined, while its seats are held; five tries in all. The answer "
        "comes at once, a worker charges the card: look at the order for how it went.",
        operation_id="try_payment",
        tags=["orders"],
        enable_validation=False,
        security=needs(BUY),
        responses=answers(
            {202: (OrderAnswer, "The try is written on the order.")},
            HTTPStatus.NOT_FOUND,
            HTTPStatus.CONFLICT,
            body=True,
            headers={"Location": "Where to read the order."},
        ),
    )
    def attempt(event_id: str, order_id: str, body: PaymentAttemptRequest) -> Response[str]:
        key = read_idempotency_key(app.header(HEADER))
        order, view = try_payment(
            parts, event_id, order_id, app.identity.subject, method=body.payment_method, idempotency_key=key
        )
        shown = show_order(parts, order, view, own=True)
        return answer(HTTPStatus.ACCEPTED, shown, location=f"/v1/events/{event_id}/orders/{order.key.order_id}")
