"""Programs in any language take orders over HTTP: confirmed ones to be fulfilled, and parked ones."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Response

from ingest.audit_trail import Actor
from ingest.hand_out import Pull, complete, extend, give_back, pull
from ingest.identity import STAFF_WRITE
from ingest.parts import Parts
from ingest.queue_requests import ExtendRequest, PullRequest, ReceiptRequest
from ingest.resolver import Resolver
from ingest.routes.answering import answer
from ingest.routes.documented import answers, needs
from ingest.staff_order_answers import PullAnswer, ReceiptAnswer, handed_answer, receipt_answer
from shared.domain.taken import Stage

_TAGS = ["programs"]
_WHAT = {
    Stage.FULFILMENT: "confirmed orders of sales that ask for fulfilment",
    Stage.PARKED: "parked orders",
}
_COMPLETED = {
    Stage.FULFILMENT: "The order is fulfilled, once, and is not handed out again.",
    Stage.PARKED: "The order is taken up again by the workers, with fresh attempts.",
}


def register(app: Resolver, parts: Parts) -> None:
    """Put the routes of both stages on a resolver."""
    for stage in Stage:
        _register_pull(app, parts, stage)
        _register_receipts(app, parts, stage)


def _curl(stage: Stage, step: str, body: str) -> str:
    return (
        '\n\n```sh\ncurl -X POST -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\\n'
        f"  -d '{body}' \"$ONSALE_URL/v1/staff/{stage}/{step}\"\n```"
    )


def _register_pull(app: Resolver, parts: Parts, stage: Stage) -> None:
    @app.post(
        f"/v1/staff/{stage}/pull",
        summary=f"Take {_WHAT[stage]}",
        description="Each comes with a receipt and is hidden from others for `visibility_s`; then it is handed out "
        "again unless it was completed. No two callers get the same order at a time. An empty answer is no proof that "
        "nothing waits: ask again after a while." + _curl(stage, "pull", '{"max": 10, "visibility_s": 60}'),
        operation_id=f"pull_{stage}",
        tags=_TAGS,
        security=needs(STAFF_WRITE),
        responses=answers({200: (PullAnswer, "The orders that were taken.")}, HTTPStatus.NOT_FOUND, body=True),
    )
    def take(body: PullRequest) -> Response[str]:
        wanted = Pull(stage, body.max, body.visibility_s, body.event_id)
        handed = pull(parts, Actor(app.identity.subject), wanted)
        now_ms = parts.clock.now_ms()
        items = [handed_answer(one, now_ms, tickets=stage is Stage.FULFILMENT) for one in handed]
        return answer(HTTPStatus.OK, PullAnswer(items=items))


def _register_receipts(app: Resolver, parts: Parts, stage: Stage) -> None:
    described = answers(
        {200: (ReceiptAnswer, "Done; the same request again changes nothing.")},
        HTTPStatus.NOT_FOUND,
        HTTPStatus.CONFLICT,
        body=True,
    )
    late = "409 `receipt-superseded` once somebody else has taken the order."

    @app.post(
        f"/v1/staff/{stage}/extend",
        summary="Keep an order for longer",
        description=f"Counted from now. {late}" + _curl(stage, "extend", '{"receipt": "…", "visibility_s": 600}'),
        operation_id=f"extend_{stage}",
        tags=_TAGS,
        security=needs(STAFF_WRITE),
        responses=described,
    )
    def keep(body: ExtendRequest) -> Response[str]:
        actor = Actor(app.identity.subject)
        handed = extend(parts, actor, stage, body.receipt, visibility_s=body.visibility_s)
        return answer(HTTPStatus.OK, receipt_answer(handed.order, handed.until_ms))

    @app.post(
        f"/v1/staff/{stage}/complete",
        summary="Report an order done",
        description=f"{_COMPLETED[stage]} {late}" + _curl(stage, "complete", '{"receipt": "…"}'),
        operation_id=f"complete_{stage}",
        tags=_TAGS,
        security=needs(STAFF_WRITE),
        responses=described,
    )
    def finish(body: ReceiptRequest) -> Response[str]:
        order = complete(parts, Actor(app.identity.subject), stage, body.receipt)
        return answer(HTTPStatus.OK, receipt_answer(order))

    @app.post(
        f"/v1/staff/{stage}/give-back",
        summary="Give an order back",
        description=f"Others can take it at once. {late}" + _curl(stage, "give-back", '{"receipt": "…"}'),
        operation_id=f"give_back_{stage}",
        tags=_TAGS,
        security=needs(STAFF_WRITE),
        responses=described,
    )
    def leave(body: ReceiptRequest) -> Response[str]:
        order = give_back(parts, Actor(app.identity.subject), stage, body.receipt)
        return answer(HTTPStatus.OK, receipt_answer(order))
