"""Answers processing intents when their time has come, as a slow bank would."""

import asyncio
import sqlite3
import time
from collections.abc import Callable

from infra.local.payment_service.actions import Call, settle_intent
from infra.local.payment_service.books import Books
from infra.local.payment_service.writer import Writer

RETRY_S = 1.0


class Settler:
    """Sleeps until the next settlement is due; `nudge` it when one was added."""

    def __init__(self, reads: Books, call: Callable[[str], Call]) -> None:
        self._reads = reads
        self._call = call
        self._wake = asyncio.Event()

    def nudge(self) -> None:
        """Look again: there may be a settlement that is due earlier."""
        self._wake.set()

    async def run(self, writer: Writer) -> None:
        """Settle until cancelled."""
        while True:
            self._wake.clear()
            pending = self._reads.next_settlement()
            wait_s = None if pending is None else pending[0] / 1000 - time.time()
            if pending is not None and wait_s is not None and wait_s <= 0:
                await self._settle(writer, pending[1])
                continue
            try:
                await asyncio.wait_for(self._wake.wait(), wait_s)
            except TimeoutError:
                continue

    async def _settle(self, writer: Writer, intent_id: str) -> None:
        call = self._call(f"settle {intent_id}")

        def work(books: Books) -> None:
            intent = books.intent(intent_id)
            if intent is not None and intent.settle_at_ms is not None:
                settle_intent(books, call, intent_id, decline=intent.settle_decline)

        try:
            await writer.run(work)
        except sqlite3.Error:
            # The writer has logged it; the bank tries again.
            await asyncio.sleep(RETRY_S)
