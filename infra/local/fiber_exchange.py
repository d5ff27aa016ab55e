"""Requests to a store on the network, sent on the event loop's own thread for the fibers that wait there."""

from __future__ import annotations

import asyncio

import aiohttp

from infra.local.fibers import Fibers
from shared.ports.exchange import HttpAnswer, HttpRequest, NeverSent, NoAnswer

_NO_CONNECTION = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
# A loop that ends cancels what waits in it.
_NO_ANSWER = (aiohttp.ClientError, OSError, TimeoutError, asyncio.CancelledError)


class FiberExchange:
    """Implements `Exchange` for fibers; whoever stands on a thread of its own asks by itself."""

    def __init__(self, fibers: Fibers) -> None:
        """Connect when first asked."""
        self._fibers = fibers
        self._session: aiohttp.ClientSession | None = None

    def __call__(self, request: HttpRequest) -> HttpAnswer | None:
        """Send a fiber's request and return the answer; None to everybody else."""
        if self._fibers.may_block():
            return None
        try:
            return self._fibers.outcome(self._ask(request))
        except _NO_CONNECTION as error:
            raise NeverSent(str(error)) from error
        except _NO_ANSWER as error:
            raise NoAnswer(str(error)) from error

    async def close(self) -> None:
        """Close the connections; await it in the loop."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _ask(self, request: HttpRequest) -> HttpAnswer:
        session = self._session or self._open()
        async with session.request(
            request.method,
            request.url,
            headers=request.headers,
            data=request.body,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(sock_connect=request.connect_timeout_s, sock_read=request.read_timeout_s),
        ) as answer:
            return HttpAnswer(answer.status, answer.headers, await answer.read())

    def _open(self) -> aiohttp.ClientSession:
        # How many fibers there are bounds the connections; what is sent is exactly what was signed.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=("Accept", "Accept-Encoding", "User-Agent"),
        )
        return self._session
