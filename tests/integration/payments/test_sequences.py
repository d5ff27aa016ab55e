"""A sample of all sequences of news, through real processes, on both stores: the books command what becomes of each."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import pytest
import stripe

from shared.domain.order import Order, Status
from shared.domain.order_id import OrderKey
from tests.integration.payments.shop import Shop, wait_for
from tests.simulation.sequences import News, sequences

SAMPLE = 200
# The emulator is slow at transactions, and the decisions are the store's least: fewer stories there.
SAMPLE_ON_EMULATOR = 50
AT_ONCE = 8
GOOD, BAD, SLOW = "pm_card_visa", "pm_card_visa_chargeDeclined", "pm_processing"
Story = tuple[News, ...]


def sample(size: int) -> list[Story]:
    """Draw the same stories every time, the longest most often, as there are most of them."""
    every = list(sequences())
    random.Random(200).shuffle(every)
    return list(islice(every, size))


def tell(shop: Shop, event: str, story: Story) -> str:
    """Let the books move as far as they can with each event, and its webhook come in any case; return the order."""
    order_id = shop.order(event, method=None)
    secret = shop.open_payment(event, order_id)
    intent_id, key = secret.partition("_secret_")[0], shop.key(event, order_id)
    for news in story:
        move(shop, intent_id, news)
        deliver(shop, news, intent_id, key)
    return order_id


def move(shop: Shop, intent_id: str, news: News) -> None:
    """Do at the payment service what the news says, if it can be done there."""
    intents = shop.stripe.v1.payment_intents
    try:
        under_way = intents.retrieve(intent_id).status == "processing"
        match news:
            case News.SUCCEEDED | News.FAILED if under_way:
                outcome = "succeeded" if news is News.SUCCEEDED else "failed"
                shop.settle(intent_id, outcome)
            case News.SUCCEEDED:
                intents.confirm(intent_id, {"payment_method": GOOD})
            case News.FAILED:
                intents.confirm(intent_id, {"payment_method": BAD})
            case News.PROCESSING:
                intents.confirm(intent_id, {"payment_method": SLOW})
            case News.REFUNDED:
                shop.stripe.v1.refunds.create({"payment_intent": intent_id})
    except (stripe.CardError, stripe.InvalidRequestError):
        # The card was declined, as it was to be; or the books cannot move so.
        return


def deliver(shop: Shop, news: News, intent_id: str, key: OrderKey) -> None:
    """Send the webhook until it is taken, as the payment service does."""
    wait_for(lambda: shop.webhook(str(news), intent_id, key).status, lambda status: status == 200)


def settled(shop: Shop, event: str, order_id: str) -> bool:
    """Say whether nothing is left to do, or only for a person; banks come to an end within seconds here."""
    order = shop.stored(event, order_id)
    return order.work is None or order.parked is not None


@pytest.mark.timeout(600)
def test_p2_stories_end_as_the_books_command(shop: Shop) -> None:
    """Hand-off orders, each told its story while workers look on; afterwards order and books agree, one by one."""
    event = shop.sell(seats=1_000, hold_ttl_s=20)
    told = sample(SAMPLE if shop.system.plan.store == "sqlite" else SAMPLE_ON_EMULATOR)

    with ThreadPoolExecutor(AT_ONCE) as tellers:
        stories = dict(zip(tellers.map(lambda story: tell(shop, event, story), told), told, strict=True))
    for order_id in stories:
        wait_for(lambda order_id=order_id: settled(shop, event, order_id), bool)  # type: ignore[misc] # bound now
    books = shop.books(event)

    for order_id, story in stories.items():
        entry, order = books[order_id], shop.stored(event, order_id)
        assert as_commanded(order, str(entry["status"]), entry["captured_minor"], entry["refunded_minor"]), (
            story,
            entry,
            order,
        )
        assert entry["captures"] <= 1
    truths = shop.verify(event).truths
    assert "false" not in truths.values()
    assert truths["I1"] == "true"


def as_commanded(order: Order, status: str, captured: int, refunded: int) -> bool:
    """Say whether an order is what the books make of it."""
    match status:
        case "succeeded" if order.parked is not None:
            # Paid back by others before any ticket was given: a person decides.
            return captured == refunded
        case "succeeded":
            return order.status is Status.CONFIRMED and captured - refunded == order.owes_minor
        case _:
            return status == "canceled" and order.status is Status.EXPIRED and captured == 0
