"""The operators' console in a real browser."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from shared.domain.order import Status
from shared.domain.order_id import locate_order
from shared.domain.transitions import park
from shared.ports.store import Store
from tests.browser.chromium import serious_findings
from tests.browser.conftest import OpenPage
from tests.e2e.house import Up

pytestmark = pytest.mark.timeout(180)
READ, WRITE = "staff:read", "staff:write"


def test_it_follows_a_small_stampede_without_reloading(shop: Up, visit: OpenPage) -> None:
    """Orders that come while the page is open appear on it; every card tells its age and has its twin."""
    assert shop.onsale("sale", "create", "rush", "--seats", "1000").returncode == 0
    page = visit("/console?event=rush", "boss", READ)
    orders = page.locator('[data-card="funnel"]')
    expect(orders).to_contain_text("accepted")

    crowd = shop.onsale(
        "stampede", "--event", "rush", "--buyers", "40", "--calm", "--within-s", "60", "--no-measure",
        "--receipts", str(shop.data / "receipts.jsonl"),
    )  # fmt: skip

    assert crowd.returncode == 0, crowd.stderr
    expect(orders.locator("tr", has_text="accepted")).to_contain_text("40")
    expect(page.locator('[data-card="verify"]')).to_contain_text("adds up")
    expect(page.locator("#headline")).to_contain_text("All is quiet")
    assert page.locator(".card .age").all_inner_texts() != []
    assert all(re.fullmatch(r"just now|[\d.]+ s ago", text) for text in page.locator(".card .age").all_inner_texts())
    assert serious_findings(page) == []

    page.locator('[data-card="sales"] a').click()
    expect(page.locator("#twin-text")).to_contain_text('"capacity": 1000')
    assert serious_findings(page) == []


def test_a_parked_order_is_asked_about_and_taken_up_again(shop: Up, store: Store, visit: OpenPage) -> None:
    """A press of the button asks first; the redriven order leaves the card and stands in the audit trail."""
    order_id = _park_one(shop, store)
    page = visit("/console?event=demo", "boss", WRITE, width=1280)
    card = page.locator('[data-card="parked"]')
    expect(card).to_contain_text("Set aside by a test.")
    expect(page.locator("#headline")).to_contain_text("1 order waits for a person.")
    assert serious_findings(page) == []

    card.get_by_role("button", name=f"Take up order {order_id} again").click()
    expect(page.locator("#ask-no")).to_be_focused()
    assert serious_findings(page) == []
    page.locator("#ask-yes").click()

    expect(card).to_contain_text("No order waits for a person.")
    expect(page.locator('[data-card="changes"]')).to_contain_text("redrive")
    assert [entry.action for entry in store.list_audit(limit=1)] == ["redrive"]


def test_a_reader_is_offered_nothing_that_changes(shop: Up, store: Store, visit: OpenPage) -> None:
    """Without write scope parked orders are shown, and no button is."""
    _park_one(shop, store)
    page = visit("/console?event=demo", "clerk", READ)
    card = page.locator('[data-card="parked"]')

    expect(card).to_contain_text("Set aside by a test.")
    assert card.get_by_role("button").count() == 0
    expect(page.locator("#state")).to_contain_text("read only")


def test_it_is_worked_by_keyboard(visit: OpenPage) -> None:
    """From the first key on: the skip link, the sale, a card's twin opened and closed, a shard read aloud."""
    page = visit("/console?event=demo", "boss", READ)
    expect(page.locator('[data-card="shards"]')).to_contain_text("Shard 0:")

    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.locator('[data-card="funnel"] a').focus()
    page.keyboard.press("Enter")
    expect(page.locator("#twin")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#twin")).to_be_hidden()
    page.locator("#shard-choice").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator('[data-card="shards"] output')).to_contain_text("Shard 1:")


def test_a_token_is_asked_for_and_kept_for_the_tab_only(shop: Up, visit: OpenPage) -> None:
    """A wrong token is refused in a sentence; a right one opens the console, is kept over a reload, and is dropped."""
    page = visit("/console", "nobody")
    page.fill("#token", shop.told["console"].partition("token=")[2])
    page.keyboard.press("Enter")
    expect(page.locator('[data-card="funnel"]')).to_contain_text("accepted")
    page.reload()
    expect(page.locator('[data-card="funnel"]')).to_contain_text("accepted")
    assert page.evaluate("() => [sessionStorage.length, localStorage.length]") == [1, 0]

    page.click("#leave")

    expect(page.locator("#enter")).to_be_visible()
    assert page.evaluate("() => sessionStorage.length") == 0
    assert serious_findings(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(visit: OpenPage, scheme: str) -> None:
    """On a narrow screen nothing is wider than it, in either scheme, and nothing is hard to read."""
    page = visit("/console?event=demo", "boss", READ, width=360, height=740, scheme=scheme)
    expect(page.locator('[data-card="workers"]')).to_contain_text("worker-1")

    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    dark = page.evaluate("() => getComputedStyle(document.documentElement).backgroundColor") == "rgb(15, 19, 25)"
    assert dark == (scheme == "dark")
    assert serious_findings(page) == []


def _park_one(shop: Up, store: Store) -> str:
    placed = shop.onsale("order", "place", "demo", "--wait", "--json")
    assert placed.returncode == 0, placed.stderr
    order_id = str(json.loads(placed.stdout)["order_id"])
    key = locate_order("demo", order_id, store.get_sale("demo").sale.shard_counts)
    # The payment service's news may be written between our read and our write.
    for _ in range(100):
        order = store.get_order(key)
        assert order is not None
        assert order.status is Status.CONFIRMED
        aside = park(order, op="test-parks", now_ms=order.updated_at_ms, error="Set aside by a test.")
        if store.save(aside, seen_rev=order.rev).done:
            return order_id
    pytest.fail("The order never stood still.")
