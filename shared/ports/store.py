"""The whole store: what a composition root hands out."""

from __future__ import annotations

from typing import Protocol

from shared.ports.control import ControlStore
from shared.ports.inventory import InventoryStore
from shared.ports.orders import OrderStore


class Store(OrderStore, InventoryStore, ControlStore, Protocol):
    """Orders, inventory and control in one."""

    def close(self) -> None:
        """Give back connections and files; further calls raise Unavailable."""
        ...
