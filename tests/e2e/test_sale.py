"""A whole sale through the API alone, the same for every place where the system runs: see targets.py."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from tests.e2e.bad_tokens import bad_tokens
from tests.e2e.targets import Answer, Target, open_target, target_names

pytestmark = pytest.mark.timeout(240)
SEATS = 8
CARD = "pm_card_visa"
DECLINED = "pm_card_visa_chargeDeclined"


@dataclass(frozen=True, slots=True)
class Night:
    """One system with one sale on it. `forgotten` is an order that was placed first and is never paid."""

    target: Target
    event_id: str
    short_id: str
    forgotten: str

    def order(
        self, buyer: str, quantity: int = 1, *, method: str | None = CARD, key: str | None = None, event: str = ""
    ) -> Answer:
        """Ask for seats."""
        body: dict[str, Any] = {"lines": [{"ticket_type_id": "standing", "quantity": quantity}]}
        if method is not None:
            body["payment_method"] = method
        headers = {} if key is None else {"Idempotency-Key": f'"{key}"'}
        token = self.target.token(buyer)
        return self.target.ask(
            "POST", f"/v1/events/{event or self.event_id}/orders", body, token=token, headers=headers
        )

    def buy(self, buyer: str, quantity: int = 1, *, method: str | None = CARD) -> dict[str, Any]:
        """Ask for seats and follow the order to its end."""
        placed = self.order(buyer, quantity, method=method)
        assert placed.status == 202, placed.body
        return self.target.follow(
            placed.headers["location"], self.target.token(buyer), "confirmed", "rejected", "expired", "cancelled"
        )

    def staff(self, method: str, path: str, body: object = None) -> Answer:
        """Ask as staff."""
        return self.target.ask(method, f"/v1/staff{path}", body, token=self.target.staff)


@pytest.fixture(scope="module", params=target_names())
def night(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    """Start a system, and open a sale of a few seats and a second one whose holds are short."""
    with open_target(request.param, tmp_path_factory.mktemp("e2e")) as target:
        mark = secrets.token_hex(4)
        night = Night(target, f"e2e-{mark}", f"e2e-short-{mark}", "")
        for event_id, hold_ttl_s in ((night.event_id, 600), (night.short_id, 2)):
            created = night.staff("POST", "/sales", sale(event_id, hold_ttl_s))
            assert created.status == 201, created.body
        forgotten = night.order("zoe", method=None, event=night.short_id)
        yield Night(target, night.event_id, night.short_id, forgotten.headers["location"])
        for event_id in (night.event_id, night.short_id):
            assert night.staff("POST", f"/sales/{event_id}/close").status == 200


def sale(event_id: str, hold_ttl_s: int) -> dict[str, Any]:
    """Define a small sale that is open."""
    return {
        "event_id": event_id,
        "name": "The Gig",
        "currency": "EUR",
        "opens_at": "2020-01-01T00:00:00Z",
        "closes_at": "2100-01-01T00:00:00Z",
        "shards": 4,
        "hold_ttl_s": hold_ttl_s,
        "pools": [{"pool_id": "floor", "capacity": SEATS}],
        "ticket_types": [{"ticket_type_id": "standing", "name": "Standing", "pool_id": "floor", "price": "25.00"}],
    }


def test_a_buyer_pays_and_gets_tickets(night: Night) -> None:
    """202 at once, soon confirmed with a ticket for each seat, and the same answer for the same key."""
    first = night.order("ann", 2, key="pay")
    again = night.order("ann", 2, key="pay")
    other = night.order("ann", 1, key="pay")
    order = night.target.follow(first.headers["location"], night.target.token("ann"), "confirmed")

    assert (first.status, again.status, other.status) == (202, 202, 422)
    assert again.headers["location"] == first.headers["location"]
    assert order["status"] == "confirmed"
    assert len(set(order["tickets"])) == 2
    assert order["amount"] == {"minor": 5000, "currency": "EUR", "text": "50.00 EUR"}


def test_a_declined_buyer_takes_another_card(night: Night) -> None:
    """The hold stays while the buyer tries again, and the second card is charged."""
    placed = night.order("bob", method=DECLINED)
    token, location = night.target.token("bob"), placed.headers["location"]
    declined = night.target.wait(
        lambda: night.target.ask("GET", location, token=token).json, lambda order: "decline_code" in order
    )
    tried = night.target.ask("POST", f"{location}/payment-attempts", {"payment_method": CARD}, token=token)
    order = night.target.follow(location, token, "confirmed", "expired")

    assert declined["status"] == "held"
    assert tried.status == 202, tried.body
    assert order["status"] == "confirmed"


def test_a_buyer_pays_by_hand_off(night: Night) -> None:
    """The payment service's notice comes in by the webhook, and the order is confirmed."""
    if night.target.payment is None:
        pytest.skip("Set ONSALE_PUBLISHABLE_KEY (and ONSALE_PAYMENT_URL) to pay by hand-off as well.")
    placed = night.order("cat", method=None)
    token, location = night.target.token("cat"), placed.headers["location"]
    held = night.target.wait(
        lambda: night.target.ask("GET", location, token=token).json, lambda order: "payment" in order
    )

    paid = night.target.pay(held["payment"]["client_secret"])
    order = night.target.follow(location, token, "confirmed")

    assert paid == 200
    assert order["status"] == "confirmed"


def test_a_buyer_changes_their_mind(night: Night) -> None:
    """A held order is cancelled and its seat comes back."""
    placed = night.order("dan", method=None)
    token, location = night.target.token("dan"), placed.headers["location"]
    night.target.follow(location, token, "held")

    wished = night.target.ask("DELETE", location, token=token)
    order = night.target.follow(location, token, "cancelled")

    assert wished.status in {200, 202}
    assert order["status"] == "cancelled"


def test_orders_are_their_buyers_own(night: Night) -> None:
    """Another buyer finds nothing, a buyer is no staff, staff see the order without its tickets."""
    placed = night.order("eve")
    location = placed.headers["location"]
    night.target.follow(location, night.target.token("eve"), "confirmed")

    foreign = night.target.ask("GET", location, token=night.target.token("mallory"))
    pretending = night.target.ask("GET", "/v1/staff/sales", token=night.target.token("mallory"))
    staff = night.target.ask("GET", location, token=night.target.staff)

    assert (foreign.status, pretending.status, staff.status) == (404, 403, 200)
    assert "tickets" not in staff.json


@pytest.mark.parametrize("kind", bad_tokens(None))
def test_bad_tokens_open_nothing(night: Night, kind: str) -> None:
    """No token, none's algorithm, HS256, another key, another's words: 401, whoever verifies."""
    token = bad_tokens(night.target.token("ann"))[kind]

    answers = [
        night.target.ask("GET", night.forgotten, token=token),
        night.target.ask("POST", f"/v1/events/{night.event_id}/orders", {}, token=token),
        night.target.ask("GET", "/v1/staff/sales", token=token),
    ]

    assert {answer.status for answer in answers} == {401}


def test_a_body_beyond_the_limit_is_refused(night: Night) -> None:
    """413 for more than 4 KiB, whatever stands in it."""
    body = b'{"lines": [' + b" " * 5000 + b"]}"
    token = night.target.token("ann")

    assert night.target.ask("POST", f"/v1/events/{night.event_id}/orders", body, token=token).status == 413


def test_the_event_page_is_public_and_may_be_cached(night: Night) -> None:
    """Anyone reads it without a token; it says for how long."""
    page = night.target.ask("GET", f"/v1/events/{night.event_id}")

    assert page.status == 200
    assert "max-age" in page.headers["cache-control"]
    assert page.json["ticket_types"][0]["price"]["minor"] == 2500
    assert night.target.ask("GET", "/v1/events/no-such-sale").status == 404


def test_the_last_seats_go_to_one_of_them(night: Night) -> None:
    """Both want all that is left: one gets it, the other is told that nothing is left, and the counts agree."""
    shown = night.staff("GET", f"/sales/{night.event_id}").json["pools"][0]
    left = shown["capacity"] - shown["taken"]
    both = ("fay", "gus")
    for buyer in both:
        night.target.token(buyer)
    # At once: whoever comes long after the other meets a closed door.
    with ThreadPoolExecutor(2) as at_once:
        placed = list(zip(both, at_once.map(lambda buyer: night.order(buyer, left), both), strict=True))
    ends = sorted(
        night.target.follow(answer.headers["location"], night.target.token(buyer), "confirmed", "rejected")["status"]
        for buyer, answer in placed
    )
    pool = night.staff("GET", f"/sales/{night.event_id}").json["pools"][0]

    assert left > 0
    assert ends == ["confirmed", "rejected"]
    assert (pool["taken"], pool["unsold"], pool["unassigned"]) == (SEATS, 0, 0)


def test_a_forgotten_hold_ends(night: Night) -> None:
    """Who never pays loses the seat when the hold ends."""
    order = night.target.follow(night.forgotten, night.target.token("zoe"), "expired")

    assert order["status"] == "expired"


def test_every_promise_holds(night: Night) -> None:
    """The system, asked to count itself from outside, finds nothing wrong."""
    if night.target.check is None:
        pytest.skip("Behind an address only the API can be asked; run `onsale verify` with access to the tables.")

    night.target.check(night.event_id)
