"""The buyer's page in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from infra.cli.api import Api
from infra.cli.where import STAFF_SCOPES
from infra.local.minting import mint
from infra.local.sale_definition import one_pool_sale
from shared.domain.times import format_time_ms
from shared.system import SystemClock
from tests.browser.chromium import WITHIN_MS, serious_findings
from tests.browser.conftest import OpenPage
from tests.e2e.house import Up

pytestmark = pytest.mark.timeout(180)


def test_a_ticket_is_bought_by_keyboard_on_a_phone(visit: OpenPage) -> None:
    """Two tickets, from the first key to the codes; a reload meets the same order, and the token is out of sight."""
    page = visit("/e/demo", "ann", "buy", width=360, height=740, scheme="dark")
    expect(page.locator("#buy")).to_be_enabled()
    assert serious_findings(page) == []
    page.locator("#quantity").focus()
    page.keyboard.press("ArrowDown")
    page.locator("#buy").focus()
    page.keyboard.press("Enter")

    expect(page.locator("#sentence")).to_have_text("Your tickets are confirmed.")
    expect(page.locator("#tickets li")).to_have_count(2)
    assert serious_findings(page) == []
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
    facts = page.locator("#facts").inner_text()
    assert facts.startswith("50.00 EUR")
    assert "token" not in page.url
    page.reload()
    expect(page.locator("#sentence")).to_have_text("Your tickets are confirmed.")
    assert page.locator("#facts").inner_text() == facts


def test_a_declined_card_is_told_and_another_one_pays(visit: OpenPage) -> None:
    """The page says what is wrong and what to do, and the same order is paid by the next card."""
    page = visit("/e/demo", "bob", "buy")
    page.select_option("#method", "pm_card_chargeDeclined")
    page.click("#buy")
    expect(page.locator("#sentence")).to_contain_text("declined")
    facts = page.locator("#facts").inner_text()

    page.click("#try")

    expect(page.locator("#sentence")).to_have_text("Your tickets are confirmed.")
    assert page.locator("#facts").inner_text() == facts


def test_whoever_is_ready_before_the_opening_is_let_out_after_it(shop: Up, visit: OpenPage) -> None:
    """The page counts down by the server's clock; a buyer who was ready orders by itself, within the first seconds."""
    staff = Api(shop.url, mint(shop.data, "boss", STAFF_SCOPES))
    opens_at = format_time_ms(SystemClock().now_ms() + 15_000)
    staff.call("POST", "/v1/staff/sales", body=one_pool_sale("later", seats=10, opens_at=opens_at))
    page = visit("/e/later", "ann", "buy")
    expect(page.locator("#left")).to_contain_text("00:00:0")
    page.click("#buy")
    expect(page.locator("#buy")).to_have_text("You are ready")
    assert serious_findings(page) == []

    expect(page.locator("#sentence")).to_have_text("Your tickets are confirmed.", timeout=WITHIN_MS + 15_000)
    expect(page.locator("#countdown")).to_be_hidden()


def test_a_stranger_sees_the_sale_and_how_to_come_in(visit: OpenPage) -> None:
    """Without a token the page shows what there is, and offers nothing that would fail."""
    page = visit("/e/demo", "nobody")

    expect(page.locator("#name")).to_have_text("The Demo")
    expect(page.locator("#buy")).to_be_disabled()
    expect(page.locator("#hint")).to_contain_text("signs you in")
    assert serious_findings(page) == []
