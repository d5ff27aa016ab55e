"""Counts what the service answers, for `/metrics` of the machine that it runs on."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from shared.metering.meter import Meter
from shared.metrics import PAYMENT_SERVICE_ANSWERS

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


class Counted:
    """Stands before an ASGI application and counts its answers by status."""

    def __init__(self, app: App, meter: Meter) -> None:
        self._app = app
        self._meter = meter

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Hand everything over; look at answers on their way back."""

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._meter.count(PAYMENT_SERVICE_ANSWERS, str(message["status"]))
            await send(message)

        await self._app(scope, receive, counting)
