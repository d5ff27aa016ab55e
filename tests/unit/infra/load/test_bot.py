"""A bot behaves as a client should, against a door that answers by script."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
from aiohttp import web

import infra.load.bot as bot_module
from infra.load.bot import Bot, Crowd
from infra.load.buyers import GOOD_CARD, Buyer, Mix, make_buyer
from infra.load.client import Client
from infra.load.manners import Manners
from infra.load.receipts import Kind, Receipt

ORDERS = "/v1/events/gig/orders"
QUIET = Mix(party_max=1, repeat=0, declined=0, vanish=0, hand_off=0, cancel=0, foreign=0, other_body=0, staff=0)
BUYER = make_buyer(1, 1, QUIET, spread_s=0)


Line = tuple[int, Mapping[str, str], Mapping[str, object]]


@dataclass(slots=True)
class Door:
    """A door that answers from a script: one list of (status, headers, body) a method, the last one for ever."""

    post: list[Line]
    get: list[Mapping[str, object]]
    delete: int = 200
    asked: list[tuple[str, str, str | None, bytes]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        """Answer the next line of the script."""
        self.asked.append((request.method, request.path, request.headers.get("Idempotency-Key"), await request.read()))
        if request.method == "DELETE":
            return web.json_response({}, status=self.delete)
        if request.method == "POST":
            status, headers, body = self.post.pop(0) if len(self.post) > 1 else self.post[0]
            return web.json_response(body, status=status, headers=headers)
        if request.path.endswith("other") or "staff" in request.path:
            return web.json_response({"type": "not-found"}, status=404)
        return web.json_response(self.get.pop(0) if len(self.get) > 1 else self.get[0])


TAKEN: Line = (202, {}, {"order_id": "mine", "status": "queued"})
CONFIRMED: Mapping[str, object] = {"status": "confirmed", "order_id": "mine"}


def live(
    door: Door, buyer: Buyer = BUYER, *, prepare: Callable[[Crowd], None] = lambda _: None
) -> tuple[Crowd, list[Receipt]]:
    """Let one buyer live against a door; waits are counted, not waited for."""

    async def run() -> tuple[Crowd, list[Receipt]]:
        async with _serving(door) as url, Client(url) as client:
            crowd = Crowd(client=client, event_id="gig", ticket_types=("standing",), pay_by_hand=None)
            prepare(crowd)
            bot = Bot(crowd, buyer, "token")
            await bot.live()
            return crowd, bot.receipts()

    return asyncio.run(run())


@asynccontextmanager
async def _serving(door: Door) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", door.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        await runner.cleanup()


def test_a_refused_order_comes_again_under_the_same_key_and_after_the_told_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """503 with Retry-After, then 503 without, then taken: three requests, one key, one body."""
    told: list[float | None] = []

    def note(_manners: Manners, retry_after_s: float | None) -> float:
        told.append(retry_after_s)
        return 0.0

    monkeypatch.setattr(Manners, "before_retry_s", note)
    door = Door(post=[(503, {"Retry-After": "7"}, {"type": "t"}), (503, {}, {}), TAKEN], get=[CONFIRMED])

    crowd, receipts = live(door)

    posts = [(key, body) for method, _, key, body in door.asked if method == "POST"]
    assert len(posts) == 3
    assert len(set(posts)) == 1
    assert posts[0][0] == f'"{BUYER.key}"'
    assert told == [7.0, None]
    assert [answer.status for answer in receipts[0].answers] == [503, 503, 202, 200]
    assert [answer.retry_after_s for answer in receipts[0].answers[:2]] == [7.0, None]
    assert crowd.tally.retries == 2


def test_a_final_refusal_is_taken_for_an_answer() -> None:
    """409 ends the buyer's night: nothing is sent again, and the receipt says why."""
    door = Door(post=[(409, {}, {"type": "urn:onsale:problem:sold-out"})], get=[CONFIRMED])

    crowd, receipts = live(door)

    assert len(door.asked) == 1
    assert crowd.tally.refused == 1
    assert receipts[0].order_ids == ()
    assert receipts[0].answers[0].problem == "urn:onsale:problem:sold-out"


def test_an_order_is_followed_to_its_end() -> None:
    """The bot looks as often as it is told and stops at a final status."""
    door = Door(
        post=[TAKEN], get=[{"status": "queued", "poll_after_s": 0}, {"status": "held", "poll_after_s": 0}, CONFIRMED]
    )

    crowd, receipts = live(door)

    assert [path for method, path, *_ in door.asked if method == "GET"] == [f"{ORDERS}/mine"] * 3
    assert receipts[0].last_status == "confirmed"
    assert crowd.tally.ended == 1


def test_a_repeated_order_is_the_very_same_request() -> None:
    """Who repeats sends the same body under the same key, and the receipt tells the two apart."""
    door = Door(post=[TAKEN], get=[CONFIRMED])

    _, receipts = live(door, replace(BUYER, repeats=True))

    posts = {(key, body) for method, _, key, body in door.asked if method == "POST"}
    kinds = [answer.kind for answer in receipts[0].answers]
    assert len(posts) == 1
    assert kinds.count(Kind.PLACE) == 1
    assert kinds.count(Kind.REPEAT) >= 1


def test_another_body_under_the_key_has_a_receipt_of_its_own() -> None:
    """Two bodies never share a receipt, so that verify can see whether they shared an answer."""
    door = Door(post=[TAKEN, (422, {}, {"type": "reused"})], get=[CONFIRMED])

    _, receipts = live(door, replace(BUYER, sends_other_body=True))

    assert len(receipts) == 2
    assert receipts[0].key == receipts[1].key
    assert receipts[0].body_sha256 != receipts[1].body_sha256
    assert [answer.kind for answer in receipts[1].answers] == [Kind.OTHER_BODY]
    assert receipts[1].order_ids == ()


def test_a_nosy_buyer_tries_to_read_and_cancel_what_is_not_theirs() -> None:
    """Foreign orders and staff routes are tried with the buyer's own token, and noted as such."""
    door = Door(post=[TAKEN], get=[CONFIRMED], delete=404)
    nosy = replace(BUYER, looks_elsewhere=True, tries_staff=True)

    _, receipts = live(door, nosy, prepare=lambda crowd: crowd.order_ids.append("other"))

    tried = [(method, path) for method, path, *_ in door.asked if path.endswith("other") or "staff" in path]
    assert tried == [("GET", f"{ORDERS}/other"), ("DELETE", f"{ORDERS}/other"), ("GET", bot_module.STAFF_ROUTE)]
    assert [one.kind for one in receipts[0].answers if one.status == 404] == [Kind.FOREIGN, Kind.FOREIGN, Kind.STAFF]


def test_who_cancels_does_so_once() -> None:
    """The wish is sent at the first look that shows the order alive."""
    door = Door(
        post=[TAKEN], get=[{"status": "held", "poll_after_s": 0}, {"status": "held", "poll_after_s": 0}, CONFIRMED]
    )

    live(door, replace(BUYER, cancels=True))

    assert [path for method, path, *_ in door.asked if method == "DELETE"] == [f"{ORDERS}/mine"]


def test_who_pays_by_hand_pays_once_with_the_secret_that_the_order_shows() -> None:
    """The client secret of the hand-off is used, and only once."""
    paid: list[str] = []

    async def pay(secret: str) -> None:
        paid.append(secret)

    def prepare(crowd: Crowd) -> None:
        crowd.pay_by_hand = pay

    waiting = {"status": "held", "poll_after_s": 0, "payment": {"client_secret": "pi_1_secret_x"}}
    door = Door(post=[TAKEN], get=[waiting, waiting, CONFIRMED])
    by_hand = replace(BUYER, method=None, pays_by_hand=True)

    live(door, by_hand, prepare=prepare)

    assert paid == ["pi_1_secret_x"]
    assert "payment_method" not in json.loads(door.asked[0][3])


def test_who_has_a_second_card_tries_it_once() -> None:
    """After a decline another try is written on the same order, under a key of its own."""
    declined = {"status": "held", "poll_after_s": 0, "decline_code": "generic_decline"}
    door = Door(post=[TAKEN, (202, {}, {})], get=[declined, declined, CONFIRMED])

    live(door, replace(BUYER, has_second_card=True))

    tries = [(path, key, json.loads(body)) for method, path, key, body in door.asked if path.endswith("attempts")]
    assert tries == [(f"{ORDERS}/mine/payment-attempts", f'"{BUYER.key}-2"', {"payment_method": GOOD_CARD})]


def test_news_that_the_sale_is_over_wakes_those_who_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A buyer who was told to look in an hour looks now."""
    door = Door(post=[TAKEN], get=[{"status": "queued", "poll_after_s": 3600}, {"status": "rejected"}])

    def prepare(crowd: Crowd) -> None:
        asyncio.get_running_loop().call_later(0.05, crowd.news.set)

    monkeypatch.setattr(bot_module, "NEWS_WITHIN_S", 0.01)
    crowd, _ = live(door, prepare=prepare)

    assert crowd.tally.ended == 1


def test_a_door_that_does_not_answer_is_status_0() -> None:
    """No connection is an answer of its own kind: the same order comes again later."""

    async def ask() -> tuple[int, float | None]:
        async with Client("http://127.0.0.1:9") as client:
            reply = await client.send(Kind.READ, "GET", "/")
            return reply.status, reply.answer.retry_after_s

    assert asyncio.run(ask()) == (0, None)
