"""The routes, in one table: Stripe's under /v1, ours under /_control."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from infra.local.payment_service import commands, reads
from infra.local.payment_service.commands import Command
from infra.local.payment_service.control import Control
from infra.local.payment_service.errors import ApiError, server_error
from infra.local.payment_service.gate import Gate
from infra.local.payment_service.reads import Read
from infra.local.payment_service.service import Service, Settings

# path, command, whether a publishable key (a buyer's browser) may ask
POSTS: list[tuple[str, Command, bool]] = [
    ("/v1/payment_intents", commands.create_intent, False),
    ("/v1/payment_intents/{object_id}/confirm", commands.confirm_intent, True),
    ("/v1/payment_intents/{object_id}/cancel", commands.cancel_intent, False),
    ("/v1/refunds", commands.create_refund, False),
]
GETS: list[tuple[str, Read, bool]] = [
    ("/v1/payment_intents", reads.list_intents, False),
    ("/v1/payment_intents/search", reads.search_intents, False),
    ("/v1/payment_intents/{object_id}", reads.get_intent, True),
    ("/v1/charges", reads.list_charges, False),
    ("/v1/charges/{object_id}", reads.get_charge, False),
    ("/v1/refunds", reads.list_refunds, False),
    ("/v1/refunds/{object_id}", reads.get_refund, False),
    ("/v1/events", reads.list_events, False),
    ("/v1/events/{object_id}", reads.get_event, False),
]

Endpoint = Callable[[Request], Awaitable[Response]]


class Application:
    """The ASGI application of one service; its parts live from start-up to shutdown."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.asgi = Starlette(lifespan=self._lifespan, exception_handlers={404: _unknown, 405: _unknown, 500: _failed})

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        service = Service(self._settings)
        app.router.routes.extend(_routes(service))
        duties = [asyncio.create_task(service.settler.run(service.writer))]
        if service.webhooks is not None:
            duties.append(asyncio.create_task(service.webhooks.run(service.writer)))
        try:
            yield
        finally:
            for duty in duties:
                duty.cancel()
                with suppress(asyncio.CancelledError):
                    await duty
            service.close()


def _routes(service: Service) -> list[Route]:
    gate = Gate(service)

    def posting(command: Command, *, public: bool) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            return await gate.post(request, command, public=public)

        return endpoint

    def getting(read: Read, *, public: bool) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            return await gate.get(request, read, public=public)

        return endpoint

    return [
        *(Route(path, posting(command, public=public), methods=["POST"]) for path, command, public in POSTS),
        *(Route(path, getting(read, public=public), methods=["GET"]) for path, read, public in GETS),
        *Control(service).routes(),
    ]


async def _unknown(request: Request, _error: Exception) -> Response:
    error = ApiError(
        404,
        "invalid_request_error",
        f"Unrecognized request URL ({request.method}: {request.url.path}). This is a local payment service; it knows "
        "payment intents, charges, refunds and events.",
    )
    return JSONResponse(error.body(), error.status)


async def _failed(_request: Request, _error: Exception) -> Response:
    error = server_error()
    return JSONResponse(error.body(), error.status)
