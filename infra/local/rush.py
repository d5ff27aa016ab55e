"""How one process answers what buyers press: by fibers, wherever its store can be waited for without a thread."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from infra.local.fiber_exchange import FiberExchange
from infra.local.fibers import Fibers
from infra.local.gateway import MAX_FIBERS
from ingest.process import Host
from shared.loopback import is_here
from shared.metering.snapshot import Snapshot
from shared.metering.watch import Watch
from shared.settings import Settings
from shared.system import THREADS


class Rush:
    """The fibers of one process, if it has any, and how they speak to its store."""

    def __init__(self, settings: Settings) -> None:
        """Choose by the store: certificates, proxies and passwords on the way to another machine are the SDK's task."""
        url = settings.dynamodb_url
        plain = is_here(url) and str(url).startswith("http://") and "@" not in str(url)
        self.fibers = Fibers() if settings.store == "sqlite" or plain else None
        self._exchange = FiberExchange(self.fibers) if self.fibers and settings.store == "dynamodb" else None

    def host(self, threads: int, watch: Watch, others: Callable[[], Sequence[Snapshot]] = tuple) -> Host:
        """Describe the process to its door, which has so many threads for whatever is not answered by fibers."""
        at_once = MAX_FIBERS if self.fibers else threads
        return Host(watch, others, self.fibers or THREADS, self._exchange, at_once)

    async def end(self) -> None:
        """Close the connections to the store; await it in the loop, when no request is left."""
        if self._exchange is not None:
            await self._exchange.close()
