"""One buyer from the press of the button to the last word about the order."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random

from infra.load.buyers import GOOD_CARD, Buyer, body_sha256
from infra.load.client import Client, Reply
from infra.load.manners import AGAIN_STATUSES, Manners
from infra.load.receipts import Answer, Kind, Receipt
from shared.domain.order import FINAL

ACCEPTED = 202
OK = 200
# Whoever sends the same request twice does so at once (a double click) or after a while (a lost answer).
REPEAT_WITHIN_S = 0.5
# Those who hear that the sale is over do not all look at once.
NEWS_WITHIN_S = 3.0
STAFF_ROUTE = "/v1/staff/sales"


@dataclass(slots=True)
class Tally:
    """What one process's buyers have come to so far."""

    pressed: int = 0
    accepted: int = 0
    refused: int = 0
    ended: int = 0
    retries: int = 0


@dataclass(slots=True)
class Crowd:
    """What the buyers of one process share.

    `order_ids` are the orders they know of. `news` tells everybody that the sale is over, as a mail would: who waits
    for the next look then looks within `NEWS_WITHIN_S`.
    """

    client: Client
    event_id: str
    ticket_types: tuple[str, ...]
    pay_by_hand: Callable[[str], Awaitable[None]] | None
    rude: bool = False
    tally: Tally = field(default_factory=Tally)
    order_ids: list[str] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def path(self) -> str:
        """Where orders of the event are placed."""
        return f"/v1/events/{self.event_id}/orders"


class Bot:
    """Acts out one buyer's plan and keeps the receipts."""

    def __init__(self, crowd: Crowd, buyer: Buyer, token: str) -> None:
        self._crowd = crowd
        self._buyer = buyer
        self._token = token
        self._dice = Random(buyer.key)
        self._manners = Manners(self._dice, crowd.rude)
        ticket_type = crowd.ticket_types[int(buyer.ticket_choice * len(crowd.ticket_types))]
        self._body = buyer.body(ticket_type)
        self._other_body = buyer.body(ticket_type, extra=1)
        self._answers: list[Answer] = []
        self._other_answers: list[Answer] = []
        self._order_ids: list[str] = []
        self._other_order_ids: list[str] = []
        self._last_status: str | None = None
        self._paid = False
        self._cancelled = False

    async def live(self) -> None:
        """Press, perhaps press again, and follow the order to its end."""
        self._crowd.tally.pressed += 1
        if not await self._place():
            self._crowd.tally.refused += 1
            return
        self._crowd.tally.accepted += 1
        self._crowd.order_ids.append(self._order_ids[-1])
        await self._mischief()
        while self._last_status not in FINAL:
            await self._look()
        self._crowd.tally.ended += 1

    def receipts(self) -> list[Receipt]:
        """Return what this buyer was told: one receipt for each body that was sent."""
        told = [self._receipt(self._body, self._order_ids, self._answers, self._last_status)]
        if self._other_answers:
            told.append(self._receipt(self._other_body, self._other_order_ids, self._other_answers, None))
        return [receipt for receipt in told if receipt.answers]

    def _receipt(self, body: bytes, order_ids: list[str], answers: list[Answer], last_status: str | None) -> Receipt:
        return Receipt(
            event_id=self._crowd.event_id,
            buyer_id=self._buyer.buyer_id,
            key=self._buyer.key,
            body_sha256=body_sha256(body),
            order_ids=tuple(dict.fromkeys(order_ids)),
            last_status=last_status,
            answers=tuple(answers),
        )

    async def _place(self) -> bool:
        """Send the order until it is taken or finally refused; always under the same key."""
        again = asyncio.create_task(self._double_click()) if self._buyer.repeats and self._dice.random() < 0.5 else None  # noqa: PLR2004
        while True:
            reply = await self._send(Kind.PLACE, "POST", self._crowd.path, body=self._body, key=self._buyer.key)
            if reply.status not in AGAIN_STATUSES:
                break
            self._crowd.tally.retries += 1
            await asyncio.sleep(self._manners.before_retry_s(reply.answer.retry_after_s))
        if again is not None:
            await again
        self._note_accepted(reply, self._order_ids)
        return bool(self._order_ids)

    async def _double_click(self) -> None:
        await asyncio.sleep(self._dice.random() * REPEAT_WITHIN_S)
        await self._repeat()

    async def _repeat(self) -> None:
        reply = await self._send(Kind.REPEAT, "POST", self._crowd.path, body=self._body, key=self._buyer.key)
        self._note_accepted(reply, self._order_ids)

    async def _mischief(self) -> None:
        buyer = self._buyer
        if buyer.repeats:
            await self._repeat()
        if buyer.sends_other_body:
            reply = await self._crowd.client.send(
                Kind.OTHER_BODY, "POST", self._crowd.path, token=self._token, body=self._other_body, key=buyer.key
            )
            self._other_answers.append(reply.answer)
            self._note_accepted(reply, self._other_order_ids)
        if buyer.looks_elsewhere:
            await self._look_elsewhere()
        if buyer.tries_staff:
            await self._send(Kind.STAFF, "GET", STAFF_ROUTE)

    async def _look_elsewhere(self) -> None:
        others = [one for one in self._crowd.order_ids[-50:] if one not in self._order_ids]
        if others:
            other = self._dice.choice(others)
            await self._send(Kind.FOREIGN, "GET", f"{self._crowd.path}/{other}")
            await self._send(Kind.FOREIGN, "DELETE", f"{self._crowd.path}/{other}")

    async def _look(self) -> None:
        """Read the order when told to, and do what its status asks of the buyer."""
        reply = await self._send(Kind.READ, "GET", f"{self._crowd.path}/{self._order_ids[-1]}")
        if reply.status != OK:
            if reply.status not in AGAIN_STATUSES:
                # An own order that cannot be read is a finding for `verify`; go on looking, slowly.
                await asyncio.sleep(self._manners.before_retry_s(None))
                return
            await asyncio.sleep(self._manners.before_retry_s(reply.answer.retry_after_s))
            return
        self._last_status = reply.body.get("status")
        if self._last_status in FINAL:
            return
        await self._act_on(reply)
        await self._rest(self._manners.before_poll_s(reply.body.get("poll_after_s")))

    async def _rest(self, wait_s: float) -> None:
        news = self._crowd.news
        if not news.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(news.wait(), wait_s)
        if news.is_set():
            await asyncio.sleep(min(wait_s, self._dice.random() * NEWS_WITHIN_S))

    async def _act_on(self, reply: Reply) -> None:
        if self._buyer.cancels and not self._cancelled:
            self._cancelled = True
            await self._send(Kind.CANCEL, "DELETE", f"{self._crowd.path}/{self._order_ids[-1]}")
        if reply.body.get("decline_code") and self._buyer.has_second_card and not self._paid:
            self._paid = True
            await self._send_second_card()
        secret = (reply.body.get("payment") or {}).get("client_secret")
        if secret and self._buyer.pays_by_hand and self._crowd.pay_by_hand is not None and not self._paid:
            self._paid = True
            await self._crowd.pay_by_hand(secret)

    async def _send_second_card(self) -> None:
        body = json.dumps({"payment_method": GOOD_CARD}).encode()
        path = f"{self._crowd.path}/{self._order_ids[-1]}/payment-attempts"
        await self._send(Kind.PAY, "POST", path, body=body, key=f"{self._buyer.key}-2")

    async def _send(
        self, kind: Kind, method: str, path: str, *, body: bytes | None = None, key: str | None = None
    ) -> Reply:
        reply = await self._crowd.client.send(kind, method, path, token=self._token, body=body, key=key)
        self._answers.append(reply.answer)
        return reply

    def _note_accepted(self, reply: Reply, order_ids: list[str]) -> None:
        order_id = reply.body.get("order_id")
        if reply.status == ACCEPTED and isinstance(order_id, str):
            order_ids.append(order_id)
            if order_ids is self._order_ids and self._last_status is None:
                self._last_status = reply.body.get("status")
