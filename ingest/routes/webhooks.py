"""News from the payment service."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Literal

from aws_lambda_powertools.event_handler import Response
from pydantic import Field

from ingest.errors import Malformed
from ingest.note_payment import Noted, note_payment
from ingest.parts import Parts
from ingest.resolver import Resolver
from ingest.responses import Answer
from ingest.routes.answering import answer
from ingest.routes.documented import answers
from shared.domain.errors import Invalid, Unavailable
from shared.metrics import PAYMENT_NOTICES

if TYPE_CHECKING:
    from shared.ports.payment import NoticeReader, PaymentNotice

SIGNATURE = "stripe-signature"


class NotedAnswer(Answer):
    """What became of a webhook."""

    noted: Literal["stored", "known", "orphaned", "foreign", "irrelevant"] = Field(
        description="`stored`: its order is looked at now. `known`: nothing new. `orphaned`: there is no such order, "
        "the money goes back. `foreign`: not ours. `irrelevant`: about no payment of an order."
    )


def register(app: Resolver, parts: Parts) -> None:
    """Put the route on a resolver."""

    @app.post(
        "/v1/webhooks/payments",
        summary="Take news of a payment",
        description="Called by the payment service, with `Stripe-Signature` over the body. Only marks the order to be "
        "looked at; 2xx once that is stored, anything else means: send it again.",
        operation_id="note_payment",
        tags=["webhooks"],
        responses=answers({200: (NotedAnswer, "It is noted.")}, HTTPStatus.BAD_REQUEST, token=False),
    )
    def note() -> Response[str]:
        notice = _read(_reader(parts), app)
        noted = note_payment(parts, notice)
        parts.insight.watch.meter.count(PAYMENT_NOTICES, str(noted))
        parts.logger.info(
            "payment notice taken",
            extra={
                "action": "note_payment",
                "noted": str(noted),
                "kind": notice.kind,
                "event_id": notice.order_key and notice.order_key.event_id,
                "order_id": notice.order_key and notice.order_key.order_id,
                "correlation_id": app.correlation_id,
            },
        )
        return answer(HTTPStatus.OK, NotedAnswer(noted=_WORDS[noted]))


_WORDS: dict[Noted, Literal["stored", "known", "orphaned", "foreign", "irrelevant"]] = {
    Noted.STORED: "stored",
    Noted.KNOWN: "known",
    Noted.ORPHANED: "orphaned",
    Noted.FOREIGN: "foreign",
    Noted.IRRELEVANT: "irrelevant",
}


def _reader(parts: Parts) -> NoticeReader:
    try:
        return parts.open_notices()
    except Invalid as error:
        # Ours to mend, not the sender's: it is to come again.
        parts.logger.exception("webhooks cannot be read here", extra={"action": "note_payment"})
        raise Unavailable("Webhooks are not set up here yet; send it again later.") from error


def _read(reader: NoticeReader, app: Resolver) -> PaymentNotice:
    payload = str(app.event["body"]).encode("utf-8", "surrogatepass")
    try:
        return reader.read(payload, app.header(SIGNATURE))
    except Invalid as error:
        raise Malformed(error.message, field=error.field, code=error.reason) from None
