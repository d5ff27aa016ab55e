"""Server-sent events: what a path answers, once a second, to everybody who listens to it.

A listener is first answered by the handler like anybody else, so that whoever may not look is refused the same way.
Then one task per path asks the handler once a second for all of them; a slow listener misses frames and holds up
nobody. Source of the format: "Server-sent events", HTML Living Standard.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
# Answers a request, given its scope and headers, as the handler does.
Ask = Callable[[Mapping[str, Any], Mapping[str, str]], Awaitable[dict[str, Any]]]

PERIOD_S = 1.0
# Beyond so many the answer is one frame, and the page asks again by itself.
MAX_LISTENERS = 2_000
_STREAMED = re.compile(r"/v1/(?:staff/events/[^/]+/frame|events/[^/]+/live)")
_EVENT_STREAM = "text/event-stream"
_HEADERS = [
    (b"content-type", _EVENT_STREAM.encode()),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]


@dataclass(eq=False, slots=True)
class _Listener:
    scope: Mapping[str, Any]
    headers: Mapping[str, str]


@dataclass(slots=True)
class _Topic:
    """One path. `turn` is set, and replaced, with every frame."""

    listeners: set[_Listener] = field(default_factory=set)
    text: str = ""
    turn: asyncio.Event = field(default_factory=asyncio.Event)
    feeder: asyncio.Task[None] | None = None

    def publish(self, text: str) -> None:
        self.text = text
        turn, self.turn = self.turn, asyncio.Event()
        turn.set()


class Streams:
    """One process's listeners, in one event loop."""

    def __init__(
        self, ask: Ask, may_listen: Callable[[Mapping[str, str]], bool], *, period_s: float = PERIOD_S
    ) -> None:
        """Get frames by `ask`; `may_listen` says whether a listener's token is still good."""
        self._ask = ask
        self._may_listen = may_listen
        self._period_s = period_s
        self._topics: dict[str, _Topic] = {}
        self._count = 0
        self._ended = asyncio.Event()

    def wants(self, scope: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
        """Say whether a request asks for a stream, and there is room for one."""
        return (
            scope["method"] == "GET"
            and _EVENT_STREAM in headers.get("accept", "")
            and _STREAMED.fullmatch(scope["path"]) is not None
            and self._count < MAX_LISTENERS
            and not self._ended.is_set()
        )

    async def serve(
        self, scope: Mapping[str, Any], headers: Mapping[str, str], receive: Receive, send: Send
    ) -> dict[str, Any] | None:
        """Send frames until somebody ends it; return the handler's answer instead when that is no frame."""
        listener = _Listener(scope, headers)
        answer = await self._ask(scope, headers)
        if answer["statusCode"] != HTTPStatus.OK:
            return answer
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        topic = self._join(scope["path"], listener, answer["body"])
        left = asyncio.create_task(_wait_until_left(receive))
        try:
            await self._send_frames(topic, listener, answer["body"], left, send)
        finally:
            left.cancel()
            self._leave(scope["path"], listener)
        await send({"type": "http.response.body", "body": b""})
        return None

    def end(self) -> None:
        """End all streams, so that the server can stop."""
        self._ended.set()
        for topic in self._topics.values():
            topic.publish(topic.text)

    async def _send_frames(
        self, topic: _Topic, listener: _Listener, text: str, left: asyncio.Task[None], send: Send
    ) -> None:
        while not (left.done() or self._ended.is_set()):
            turn = topic.turn
            await send({"type": "http.response.body", "body": f"data: {text}\n\n".encode(), "more_body": True})
            waiting = asyncio.create_task(turn.wait())
            await asyncio.wait({waiting, left}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            text = topic.text
            if not self._may_listen(listener.headers):
                return

    def _join(self, path: str, listener: _Listener, text: str) -> _Topic:
        topic = self._topics.setdefault(path, _Topic(text=text))
        topic.listeners.add(listener)
        self._count += 1
        if topic.feeder is None:
            topic.feeder = asyncio.create_task(self._feed(topic))
        return topic

    def _leave(self, path: str, listener: _Listener) -> None:
        topic = self._topics[path]
        topic.listeners.discard(listener)
        self._count -= 1
        if not topic.listeners:
            if topic.feeder is not None:
                topic.feeder.cancel()
            del self._topics[path]

    async def _feed(self, topic: _Topic) -> None:
        while True:
            await asyncio.sleep(self._period_s)
            # Any listener's request will do: all see the same.
            listener = next(iter(topic.listeners))
            answer = await self._ask(listener.scope, listener.headers)
            if answer["statusCode"] == HTTPStatus.OK:
                topic.publish(answer["body"])
            elif not self._may_listen(listener.headers):
                topic.publish(topic.text)


async def _wait_until_left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
