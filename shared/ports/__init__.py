"""The sockets of the house: what the rooms need from outside, as protocols.

Three stores in one, the payment service, the clock and the source of ids. Every store method may raise
`Unavailable` (or its children `Throttled`, `Contended`, `AnswerLost`); repeating the very same call with the same
`op` after any of these is always safe, and recognised as done if it was.
"""

from __future__ import annotations

from typing import Protocol

from shared.ports.buyer_orders import BuyerOrder, BuyerOrderPage, BuyerOrdersStore
from shared.ports.changes import ChangeLog, StreamPage, StreamRecord
from shared.ports.control import (
    AuditEntry,
    CheckReport,
    ControlStore,
    GrantTurn,
    Member,
    Notice,
    PoolNotice,
    SaleView,
    Word,
)
from shared.ports.inventory import HoldBatch, HoldOutcome, InventoryStore
from shared.ports.orders import Accepted, HintPage, OrderPage, OrderStore, Saved
from shared.ports.payment import Intent, IntentPage, IntentStatus, NoticeReader, PaymentGateway, PaymentNotice
from shared.ports.stats import StatsStore
from shared.ports.system import Clock, Gate, Ids, Waiting

__all__ = [
    "Accepted",
    "AuditEntry",
    "BuyerOrder",
    "BuyerOrderPage",
    "BuyerOrdersStore",
    "ChangeLog",
    "CheckReport",
    "Clock",
    "ControlStore",
    "Gate",
    "GrantTurn",
    "HintPage",
    "HoldBatch",
    "HoldOutcome",
    "Ids",
    "Intent",
    "IntentPage",
    "IntentStatus",
    "InventoryStore",
    "Member",
    "Notice",
    "NoticeReader",
    "OrderPage",
    "OrderStore",
    "PaymentGateway",
    "PaymentNotice",
    "PoolNotice",
    "SaleView",
    "Saved",
    "StatsStore",
    "Store",
    "StreamPage",
    "StreamRecord",
    "Waiting",
    "Word",
]


class Store(OrderStore, InventoryStore, ControlStore, Protocol):
    """The whole store: what a composition root hands out."""

    def close(self) -> None:
        """Give back connections and files; further calls raise Unavailable."""
        ...
