"""One generator process: `python -m infra.load.generator`.

Reads a job as its first line of standard input, prints `{"ready": …}` once tokens are minted and the sale is known,
starts on the second line, prints a tally about twice a second, and at the end `{"done": …}`. A third line tells the
buyers that the sale is over, so that those who were told to look much later look now. SIGTERM ends the buyers
early; their receipts are written all the same.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from http import HTTPStatus
from pathlib import Path
from typing import Any

import aiohttp
import uvloop

from infra.load.bot import OK, Bot, Crowd
from infra.load.buyers import make_buyer
from infra.load.client import Client
from infra.load.hand_payment import HandPayments
from infra.load.job import Job
from infra.load.receipts import Kind, receipt_line
from infra.load.tokens import tokens_of

TELL_EVERY_S = 0.4


def say(value: dict[str, Any]) -> None:
    """Write one line for the parent."""
    # Whoever listened may be gone; the receipts are written all the same.
    with suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(value) + "\n")
        sys.stdout.flush()


async def run(job: Job) -> None:
    """Do the job."""
    buyers = [make_buyer(job.seed, job.first + n, job.mix, spread_s=job.spread_s) for n in range(job.count)]
    tokens = tokens_of(job, [buyer.buyer_id for buyer in buyers])
    async with Client(job.url) as client, aiohttp.ClientSession() as session:
        crowd = Crowd(
            client=client,
            event_id=job.event_id,
            ticket_types=await _ticket_types(client, job.event_id),
            pay_by_hand=_by_hand(session, job),
            rude=job.rude,
        )
        bots = [Bot(crowd, buyer, token) for buyer, token in zip(buyers, tokens, strict=True)]
        say({"ready": len(bots)})
        if not await asyncio.to_thread(sys.stdin.readline):
            return
        began = time.monotonic()
        teller = asyncio.create_task(_tell(crowd))
        herald = asyncio.create_task(_hear(crowd))
        await _let_live(job, bots, [buyer.presses_after_s for buyer in buyers])
        for task in (teller, herald):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        _write_receipts(Path(job.receipts), bots)
        say({"tally": asdict(crowd.tally), "statuses": dict(client.statuses)})
        say({"done": round(time.monotonic() - began, 3)})


async def _ticket_types(client: Client, event_id: str) -> tuple[str, ...]:
    reply = await client.send(Kind.READ, "GET", f"/v1/events/{event_id}")
    client.statuses.clear()
    if reply.status != OK:
        why = f"GET /v1/events/{event_id} answered {reply.status or 'nothing'}"
        say({"failed": why, "missing": reply.status == HTTPStatus.NOT_FOUND})
        raise SystemExit(1)
    return tuple(kind["ticket_type_id"] for kind in reply.body["ticket_types"])


async def _let_live(job: Job, bots: list[Bot], starts: list[float]) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()

    async def one(bot: Bot, presses_after_s: float) -> None:
        await asyncio.sleep(began + presses_after_s - loop.time())
        await bot.live()

    lives = asyncio.gather(*(one(bot, start) for bot, start in zip(bots, starts, strict=True)))
    loop.add_signal_handler(signal.SIGTERM, lives.cancel)
    with suppress(asyncio.CancelledError, TimeoutError):
        await asyncio.wait_for(lives, job.spread_s + job.within_s)


def _by_hand(session: aiohttp.ClientSession, job: Job) -> Any:  # noqa: ANN401 - a coroutine function or None
    if job.payment_url is None or job.publishable_key is None:
        return None
    return HandPayments(session, job.payment_url, job.publishable_key).pay


async def _hear(crowd: Crowd) -> None:
    """Wait for the parent's third line, which says that the sale is over."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    if await reader.readline():
        crowd.news.set()


async def _tell(crowd: Crowd) -> None:
    while True:
        await asyncio.sleep(TELL_EVERY_S)
        say({"tally": asdict(crowd.tally), "statuses": dict(crowd.client.statuses)})


def _write_receipts(path: Path, bots: list[Bot]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for bot in bots:
            for receipt in bot.receipts():
                file.write(receipt_line(receipt) + "\n")


def main() -> None:
    """Run one job from standard input."""
    job = Job.from_line(sys.stdin.readline())
    uvloop.run(run(job))


if __name__ == "__main__":
    main()
