"""A whole system of real processes, and the people who trouble it: buyers, staff, the payment service, the bank."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from traceback import format_exception
from typing import Any, TypeVar

import stripe
from pydantic import SecretStr

from consumers.reconcile.report import Report
from consumers.reconcile.walk import Reconciler
from infra.cli.api import Api
from infra.local.data_folder import DataFolder
from infra.local.minting import mint
from infra.local.outside import folder_settings
from infra.local.payment_service.faults import Faults
from infra.local.payment_service.signatures import signature_header
from infra.local.sale_definition import one_pool_sale
from infra.local.system import Plan, System
from infra.verify.run import Verification, verify
from shared.domain.errors import NotFound, OnsaleError, Unavailable
from shared.domain.order import Order, Status
from shared.domain.order_id import OrderKey, locate_order
from shared.payments.tags import Tags
from shared.ports.payment import PaymentGateway
from shared.ports.store import Store
from shared.system import SystemClock, SystemIds
from shared.wiring import open_gateway, open_store

T = TypeVar("T")

# Longer than the longest pause between two looks at a payment service in trouble, some times over.
PATIENCE_S = 150.0
# A hold that a test sees the end of: long enough for its buyer to open the payment first on a busy machine.
HOLD_S = 10
PAYMENT = "payment service"
ENDED = ("confirmed", "rejected", "expired", "cancelled", "refunded")


@dataclass(frozen=True, slots=True)
class Told:
    """One HTTP answer."""

    status: int
    body: dict[str, Any]


@dataclass
class Shop:
    """One running system over one data folder."""

    system: System
    data: Path
    buyers: dict[str, str] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=lambda: iter(range(1, 10**9)))

    # --- people ---------------------------------------------------------------------------------------------------

    @property
    def url(self) -> str:
        """The API's address."""
        assert self.system.running is not None
        return self.system.running.url

    @property
    def payment_url(self) -> str:
        """The payment service's address."""
        assert self.system.running is not None
        return self.system.running.payment_url

    def staff(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Ask as staff."""
        api = Api(self.url, mint(self.data, "boss", ("staff:read", "staff:write")))
        return api.call(method, f"/v1/staff/sales{path}", body=body)[1]

    def ask(self, buyer: str, method: str, path: str, body: object = None, *, key: str | None = None) -> Told:
        """Ask as a buyer."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {mint(self.data, buyer, ('buy',))}"}
        if key is not None:
            headers["Idempotency-Key"] = f'"{key}"'
        return post(f"{self.url}{path}", body, headers, method=method)

    def sell(self, *, seats: int = 100, price: str = "25.00", currency: str = "EUR", **limits: int | None) -> str:
        """Open a sale of its own; return its event id."""
        event = f"event-{next(self._numbers)}"
        definition = one_pool_sale(event, seats=seats, price=price, currency=currency)
        self.staff("POST", "", {**definition, "shards": 2, "hold_ttl_s": 60, **limits})
        return event

    def order(
        self, event: str, *, method: str | None = "pm_card_visa", quantity: int = 1, buyer: str | None = None
    ) -> str:
        """Place an order, as a buyer of its own unless one is named; return its id."""
        told = self.press(event, method=method, quantity=quantity, buyer=buyer)
        assert told.status == 202, told
        return str(told.body["order_id"])

    def press(
        self, event: str, *, method: str | None = "pm_card_visa", quantity: int = 1, buyer: str | None = None
    ) -> Told:
        """Try to place an order."""
        number = next(self._numbers)
        buyer = buyer or f"buyer-{number}"
        body: dict[str, Any] = {"lines": [{"ticket_type_id": "standing", "quantity": quantity}]}
        if method is not None:
            body["payment_method"] = method
        told = self.ask(buyer, "POST", f"/v1/events/{event}/orders", body, key=f"key-{number}")
        if told.status == 202:
            self.buyers[told.body["order_id"]] = buyer
        return told

    def read(self, event: str, order_id: str) -> dict[str, Any]:
        """Read an order as its buyer."""
        told = self.as_buyer(order_id, "GET", f"/v1/events/{event}/orders/{order_id}")
        assert told.status == 200, told
        return told.body

    def as_buyer(self, order_id: str, method: str, path: str, body: object = None, *, key: str | None = None) -> Told:
        """Ask as the buyer of an order."""
        return self.ask(self.buyers[order_id], method, path, body, key=key)

    def until(self, event: str, order_id: str, *statuses: str) -> dict[str, Any]:
        """Wait until an order has one of these statuses, and start again what falls meanwhile; return the order."""

        def look() -> dict[str, Any]:
            # In this thread: what a thread starts ends with it.
            self.system.supervise()
            return self.read(event, order_id)

        return wait_for(look, lambda order: order["status"] in (statuses or ENDED))

    def open_payment(self, event: str, order_id: str) -> str:
        """Wait until the buyer is handed a payment; return its client secret."""
        order = wait_for(lambda: self.read(event, order_id), lambda order: "payment" in order)
        return str(order["payment"]["client_secret"])

    def pay(self, client_secret: str, method: str = "pm_card_visa") -> Told:
        """Pay by hand, as the buyer's page does."""
        intent_id = client_secret.partition("_secret_")[0]
        assert self.system.running is not None
        form = f"client_secret={client_secret}&payment_method={method}".encode()
        headers = {"Authorization": f"Bearer {self.system.running.publishable_key}"}
        return post(f"{self.payment_url}/v1/payment_intents/{intent_id}/confirm", form, headers)

    # --- the payment service --------------------------------------------------------------------------------------

    def control(self, path: str, body: object = None) -> dict[str, Any]:
        """Turn a knob of the payment service, or read its books."""
        told = post(f"{self.payment_url}/_control/{path}", body, {}, method="GET" if body is None else "POST")
        assert told.status == 200, told
        return told.body

    def settle(self, intent_id: str, outcome: str) -> None:
        """Let the bank answer for a payment under way, unless it has answered already."""
        post(f"{self.payment_url}/_control/settle", {"payment_intent": intent_id, "outcome": outcome}, {})

    def faults(self, **knobs: float) -> None:
        """Let the payment service fail in these ways and no others."""
        self.control("faults", Faults().as_dict() | knobs)

    @cached_property
    def stripe(self) -> stripe.StripeClient:
        """The official client with the secret key."""
        return stripe.StripeClient(
            self.secrets["payment_key"], base_addresses={"api": self.payment_url}, max_network_retries=0
        )

    @property
    def secrets(self) -> dict[str, str]:
        """The keys of this machine."""
        return DataFolder(self.data).secrets()

    def metadata(self, key: OrderKey) -> dict[str, str]:
        """Write the metadata that make a payment ours."""
        return Tags(self.secrets["tag_secret"].encode(), "local").metadata(key)

    def books(self, event: str) -> dict[str, dict[str, Any]]:
        """Read the payment service's books for one event: what it knows of each order, by order id."""
        found: dict[str, dict[str, Any]] = {}
        after: int | None = 0
        while after is not None:
            page = self.control(f"books/orders?after={after}")
            for entry in page["orders"]:
                if entry["metadata"].get("onsale_event") == event:
                    assert entry["order_id"] not in found, "an order has two payments"
                    found[entry["order_id"]] = entry
            after = page["next"]
        return found

    def webhook(
        self, kind: str, intent_id: str, key: OrderKey, *, created_s: float | None = None, **changes: object
    ) -> Told:
        """Send a webhook as the payment service would, whether anything happened or not."""
        about = {"object": "payment_intent", "id": intent_id, "metadata": self.metadata(key)}
        event = {
            "id": f"evt_{next(self._numbers)}",
            "type": kind,
            "created": int(created_s if created_s is not None else time.time()),
            "livemode": False,
            "data": {"object": about},
            **changes,
        }
        text = json.dumps(event)
        signature = signature_header(text, [self.secrets["webhook_secret"]], int(time.time()))
        return post(f"{self.url}/v1/webhooks/payments", text.encode(), {"Stripe-Signature": signature})

    # --- behind the wall ------------------------------------------------------------------------------------------

    @cached_property
    def store(self) -> Store:
        """The system's store."""
        return open_store(folder_settings(self.data), SystemClock(), SystemIds())

    @cached_property
    def gateway(self) -> PaymentGateway:
        """The system's payment gateway."""
        return open_gateway(folder_settings(self.data), SystemClock())

    def key(self, event: str, order_id: str) -> OrderKey:
        """Return the full address of an order."""
        return locate_order(event, order_id, self.store.get_sale(event).sale.shard_counts)

    def stored(self, event: str, order_id: str) -> Order:
        """Read an order as it is stored."""
        order = self.store.get_order(self.key(event, order_id))
        assert order is not None
        return order

    def reconcile(self) -> Report:
        """Walk once."""
        return Reconciler(self.store, self.gateway, SystemClock(), SystemIds()).walk()

    def reconcile_in_trouble(self) -> None:
        """Walk, whatever comes of it."""
        with suppress(Unavailable):
            self.reconcile()

    def provoke(self, intent_id: str) -> list[str]:
        """Return what the gateway says of a wrong key, a dead service and an unknown payment, tracebacks included."""
        settings = folder_settings(self.data)
        wrong_key = settings.model_copy(update={"payment_key": SecretStr("sk_test_wrong")})
        nowhere = settings.model_copy(update={"payment_url": "http://127.0.0.1:9"})
        said = []
        for setup, wanted in ((wrong_key, intent_id), (nowhere, intent_id), (settings, "pi_unknown")):
            try:
                open_gateway(setup, SystemClock()).fetch(wanted)
            except OnsaleError as error:
                said.append("".join(format_exception(error)))
        return [*said, repr(settings), repr(self.gateway.fetch(intent_id))]

    def verify(self, event: str) -> Verification:
        """Check every invariant of one event."""
        return verify(self.store, self.gateway, event, clock=SystemClock())

    def assert_sound(self, event: str) -> None:
        """Assert that seats, money and limits of an event are right."""
        truths = self.verify(event).truths
        assert {name: truths[name] for name in ("I1", "I4", "I7")} == {"I1": "true", "I4": "true", "I7": "true"}

    def drained(self, event: str) -> None:
        """Wait until nothing is left to do for an event's orders."""
        sale = self.store.get_sale(event).sale
        shards = range(max(sale.shard_counts))

        def orders() -> list[Order]:
            return [order for shard in shards for order in self.store.list_orders(event, shard, limit=1000).orders]

        wait_for(orders, lambda found: all(order.work is None for order in found))

    @contextmanager
    def store_down(self, seconds: float) -> Iterator[None]:
        """Let no process write to the store for a while."""
        emulator = getattr(self.system._emulator, "pid", None)
        if self.system.plan.store == "dynamodb":
            assert isinstance(emulator, int)
            os.kill(emulator, signal.SIGSTOP)
            try:
                yield
                time.sleep(seconds)
            finally:
                os.kill(emulator, signal.SIGCONT)
            return
        with closing(sqlite3.connect(self.data / "onsale.db", isolation_level=None, timeout=30)) as other:
            other.execute("BEGIN IMMEDIATE")
            yield
            time.sleep(seconds)
            other.execute("ROLLBACK")

    def close(self) -> None:
        """Stop everything."""
        self.store.close()
        self.system.stop()


def open_shop(data: Path, store: str, *, log_level: str = "WARNING") -> Shop:
    """Start a system with one worker; webhooks are repeated fast."""
    system = System(Plan(data, store, workers=1, log_level=log_level), lambda _: None)
    system.start()
    shop = Shop(system, data)
    # Opened before several threads ask for it: each would open its own, and only one would be closed.
    _ = shop.store
    return shop


def post(url: str, body: object, headers: dict[str, str], *, method: str = "POST") -> Told:
    """Send one request; any answer is an answer, 0 when there was none."""
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    if data is not None:
        kind = "application/json" if b"{" in data[:1] else "application/x-www-form-urlencoded"
        headers = {"Content-Type": kind, **headers}
    request = urllib.request.Request(url, data=data, headers=headers, method=method)  # noqa: S310 - our own processes
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return Told(answer.status, json.loads(answer.read() or b"{}"))
    except urllib.error.HTTPError as error:
        with error:
            return Told(error.code, json.loads(error.read() or b"{}"))
    except OSError:
        return Told(0, {})


def wait_for(look: Callable[[], T], holds: Callable[[T], bool]) -> T:
    """Look until something holds; return what was seen then."""
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        seen: T | None = None
        with suppress(Unavailable, NotFound):
            seen = look()
        if seen is not None and holds(seen):
            return seen
        assert time.monotonic() < deadline_s, f"it did not come about: {seen}"
        time.sleep(0.05)


def confirmed(orders: Iterable[Order]) -> int:
    """Count the confirmed ones."""
    return sum(order.status is Status.CONFIRMED for order in orders)
