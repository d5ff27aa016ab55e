"""A door that never hears that a shard map has grown, and so writes by the first one all night."""

from __future__ import annotations

from msgspec.structs import replace

from ingest.sale_cache import SaleCache
from shared.ports.control import ControlStore, SaleView
from shared.ports.system import Clock


class DeafCache(SaleCache):
    """Knows all about its sale but the shard map, unless a request names what it does not know."""

    def __init__(self, store: ControlStore, clock: Clock, shard_counts: tuple[int, ...]) -> None:
        """Stay with `shard_counts`."""
        super().__init__(store, clock)
        self._shard_counts = shard_counts

    def get(self, event_id: str) -> SaleView:
        """Return the sale with its first map."""
        view = super().get(event_id)
        return replace(view, sale=replace(view.sale, shard_counts=self._shard_counts))
