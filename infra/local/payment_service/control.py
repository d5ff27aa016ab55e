"""Routes for tests, demo and verification: turn the knobs, read the books, play the bank. Loopback only."""

import ipaddress
import json
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from infra.local.payment_service import accounts, actions
from infra.local.payment_service.books import Books
from infra.local.payment_service.errors import ApiError, invalid, missing
from infra.local.payment_service.idempotency import Answer, forget_all
from infra.local.payment_service.methods import GENERIC
from infra.local.payment_service.params import whole
from infra.local.payment_service.service import Service

BOOKS_PAGE_MAX = 1000
RESEND_MAX = 100

Handler = Callable[[Request], Awaitable[Response]]


class Control:
    """The control routes of one service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[Route]:
        """All control routes."""
        return [
            Route("/_control/health", _guarded(self.health), methods=["GET"]),
            Route("/_control/faults", _guarded(self.faults), methods=["GET", "POST"]),
            Route("/_control/books", _guarded(self.books), methods=["GET"]),
            Route("/_control/books/orders", _guarded(self.orders), methods=["GET"]),
            Route("/_control/forget-keys", _guarded(self.forget_keys), methods=["POST"]),
            Route("/_control/settle", _guarded(self.settle), methods=["POST"]),
            Route("/_control/authenticate", _guarded(self.authenticate), methods=["POST"]),
            Route("/_control/resend", _guarded(self.resend), methods=["POST"]),
        ]

    async def health(self, _request: Request) -> Response:
        """Whether the books can be written."""
        await self._service.writer.run(lambda books: books.connection.execute("SELECT 1").fetchone()[0])
        return JSONResponse({"status": "ok", "seed": self._service.dice.seed})

    async def faults(self, request: Request) -> Response:
        """GET the knobs; POST `{"knob": number, ...}` to turn some, `{}` to turn none."""
        if request.method == "POST":
            try:
                self._service.faults = self._service.faults.with_changes(await _json(request))
            except ValueError as error:
                raise invalid(str(error)) from error
        return JSONResponse(self._service.faults.as_dict())

    async def books(self, request: Request) -> Response:
        """Totals; `?order_key=` names the metadata key that holds an order's id."""
        return JSONResponse(accounts.totals(self._service.reads, _order_key(request)))

    async def orders(self, request: Request) -> Response:
        """Every intent with its order id, in the order of creation: `?after=<seq>&limit=&order_key=`."""
        limit = whole(request.query_params.get("limit"), "limit") or BOOKS_PAGE_MAX
        after = whole(request.query_params.get("after"), "after") or 0
        if not 1 <= limit <= BOOKS_PAGE_MAX:
            raise invalid(f"limit must be between 1 and {BOOKS_PAGE_MAX}.", param="limit")
        return JSONResponse(accounts.orders(self._service.reads, _order_key(request), after, limit))

    async def forget_keys(self, _request: Request) -> Response:
        """Forget every idempotency key now."""
        return JSONResponse({"forgotten": await self._service.writer.run(forget_all)})

    async def settle(self, request: Request) -> Response:
        """`{"payment_intent": id, "outcome": "succeeded" | "failed"}`: the bank answers now."""
        wanted = await _json(request)
        intent_id, decline = _text(wanted, "payment_intent"), None if _passes(wanted) else GENERIC
        call = self._service.call(f"settle {intent_id}")
        return await self._act(intent_id, lambda books: actions.settle_intent(books, call, intent_id, decline=decline))

    async def authenticate(self, request: Request) -> Response:
        """`{"payment_intent": id, "outcome": "succeeded" | "failed"}`: the buyer proves who they are, or fails to."""
        wanted = await _json(request)
        intent_id, proven = _text(wanted, "payment_intent"), _passes(wanted)
        call = self._service.call(f"authenticate {intent_id}")
        return await self._act(
            intent_id, lambda books: actions.authenticate_intent(books, call, intent_id, proven=proven)
        )

    async def resend(self, request: Request) -> Response:
        """`{"event": id, "times": n}`: deliver an event again, whatever became of it."""
        wanted = await _json(request)
        times = wanted.get("times", 1)
        if not isinstance(times, int) or not 1 <= times <= RESEND_MAX:
            raise invalid(f"times must be a whole number from 1 to {RESEND_MAX}.", param="times")
        event = self._service.reads.event(_text(wanted, "event"))
        if event is None:
            raise missing("event", _text(wanted, "event"))
        self._service.deliverer.send_again(event, times)
        return JSONResponse({"sent": times})

    async def _act(self, intent_id: str, work: Callable[[Books], Answer]) -> Response:
        await self._service.writer.run(work)
        intent = self._service.reads.intent(intent_id)
        return JSONResponse({"payment_intent": intent_id, "status": intent.status if intent else None})


def _guarded(handler: Handler) -> Handler:
    async def guarded(request: Request) -> Response:
        try:
            _check_local(request)
            return await handler(request)
        except ApiError as error:
            return JSONResponse(error.body(), error.status)

    return guarded


def _check_local(request: Request) -> None:
    if request.client is None or not ipaddress.ip_address(request.client.host).is_loopback:
        raise ApiError(403, "invalid_request_error", "The control routes answer this machine only.")


async def _json(request: Request) -> dict[str, Any]:
    try:
        wanted = json.loads(await request.body())
    except ValueError as error:
        raise invalid("The body must be a JSON object.") from error
    if not isinstance(wanted, dict):
        raise invalid("The body must be a JSON object.")
    return wanted


def _text(wanted: dict[str, Any], name: str) -> str:
    value = wanted.get(name)
    if not isinstance(value, str) or not value:
        raise invalid(f"Missing required member: {name}.", param=name)
    return value


def _passes(wanted: dict[str, Any]) -> bool:
    outcome = _text(wanted, "outcome")
    if outcome not in {"succeeded", "failed"}:
        raise invalid("outcome must be 'succeeded' or 'failed'.", param="outcome")
    return outcome == "succeeded"


def _order_key(request: Request) -> str:
    return request.query_params.get("order_key") or accounts.ORDER_KEY
