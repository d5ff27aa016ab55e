"""Server-sent events: one question a period for all listeners, and an end for each of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from infra.local.pages import POLICY, Pages
from infra.local.streams import Streams

PATH = "/v1/events/gig/live"
SCOPE = {"method": "GET", "path": PATH}
ACCEPT = {"accept": "text/event-stream"}


@dataclass
class Source:
    """Answers every question with the next number."""

    asked: int = 0
    status: int = 200

    async def ask(self, scope: Mapping[str, Any], headers: Mapping[str, str]) -> dict[str, Any]:
        self.asked += 1
        return {"statusCode": self.status, "body": str(self.asked), "headers": {}}


@dataclass
class Listener:
    """One browser: what it was sent; it leaves when told."""

    sent: list[dict[str, Any]] = field(default_factory=list)
    leaving: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self) -> dict[str, Any]:
        await self.leaving.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:  # noqa: ANN401 - an ASGI message
        self.sent.append(dict(message))

    @property
    def frames(self) -> list[str]:
        return [text.decode()[6:-2] for message in self.sent if (text := message.get("body", b""))]


async def until(done: Callable[[], bool]) -> None:
    """Let the loop turn until something is so."""
    while not done():  # noqa: ASYNC110 - what is waited for is any of a hundred lists
        await asyncio.sleep(0)


def always(_: Mapping[str, str]) -> bool:
    """Let everybody listen."""
    return True


def test_all_listeners_share_one_question() -> None:
    """A hundred who came at once are fed by one question a period, and see the same."""

    async def scene() -> None:
        source = Source()
        streams = Streams(source.ask, always, period_s=0.001)
        crowd = [Listener() for _ in range(100)]
        tasks = [asyncio.create_task(streams.serve(SCOPE, ACCEPT, one.receive, one.send)) for one in crowd]
        await until(lambda: all(len(one.frames) >= 4 for one in crowd))
        at_most = source.asked
        streams.end()
        assert await asyncio.gather(*tasks) == [None] * 100
        # Each was answered once when it came; everything after that was asked for all of them together.
        assert at_most - 100 <= max(int(one.frames[-1]) for one in crowd) - 100 + 1
        assert all(one.frames[1:4] == crowd[0].frames[1:4] for one in crowd)
        assert all(one.sent[-1] == {"type": "http.response.body", "body": b""} for one in crowd)

    asyncio.run(scene())


def test_nobody_listens_nobody_asks() -> None:
    """When the last listener has left, no further question is asked."""

    async def scene() -> None:
        source = Source()
        streams = Streams(source.ask, always, period_s=0.001)
        listener = Listener()
        task = asyncio.create_task(streams.serve(SCOPE, ACCEPT, listener.receive, listener.send))
        await until(lambda: len(listener.frames) >= 2)
        listener.leaving.set()
        await task
        asked = source.asked
        await asyncio.sleep(0.02)
        assert source.asked == asked

    asyncio.run(scene())


def test_a_refusal_is_answered_as_one() -> None:
    """Whoever may not look gets the handler's answer, and no stream."""

    async def scene() -> None:
        listener = Listener()
        answer = await Streams(Source(status=403).ask, always).serve(SCOPE, ACCEPT, listener.receive, listener.send)
        assert answer is not None
        assert (answer["statusCode"], listener.sent) == (403, [])

    asyncio.run(scene())


def test_a_listener_whose_token_ends_is_let_go() -> None:
    """The stream ends with the token; the page then asks again and is told."""

    async def scene() -> None:
        good = [True]
        streams = Streams(Source().ask, lambda _: good[0], period_s=0.001)
        listener = Listener()
        task = asyncio.create_task(streams.serve(SCOPE, ACCEPT, listener.receive, listener.send))
        await until(lambda: len(listener.frames) >= 2)
        good[0] = False
        assert await task is None

    asyncio.run(scene())


def test_only_frames_are_streamed_and_only_on_request() -> None:
    """Other addresses, other methods and browsers that did not ask for a stream get a plain answer."""

    async def scene() -> None:
        streams = Streams(Source().ask, always)
        assert streams.wants(SCOPE, ACCEPT)
        assert streams.wants({**SCOPE, "path": "/v1/staff/events/gig/frame"}, ACCEPT)
        assert not streams.wants(SCOPE, {})
        assert not streams.wants({**SCOPE, "method": "POST"}, ACCEPT)
        assert not streams.wants({**SCOPE, "path": "/v1/staff/sales"}, ACCEPT)

    asyncio.run(scene())


def test_pages_are_found_and_forbid_everything_from_elsewhere() -> None:
    """The console, a buyer's page for any event, and their files; nothing inline, nothing foreign, no frames."""
    pages = Pages()
    found = [pages.find(path) for path in ("/console", "/e/gig", "/assets/base.css", "/assets/uPlot.iife.min.js")]

    assert all(page is not None and page.headers["Content-Security-Policy"] == POLICY for page in found)
    assert "unsafe" not in POLICY
    assert "http" not in POLICY
    assert [pages.find(path) for path in ("/", "/e/", "/e/a/b", "/assets/../console.html", "/consoles")] == [None] * 5
