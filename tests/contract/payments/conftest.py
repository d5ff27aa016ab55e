"""The gateway over every peer: the local payment service, and localstripe where it knows enough."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from infra.local.payment_service.faults import Faults
from infra.local.payment_service.launch import Launch, PaymentProcess
from shared.domain.money import Money
from shared.domain.order_id import OrderKey
from shared.payments.stripe_gateway import StripeGateway
from shared.payments.tags import Tags
from tests.contract.payments import localstripe
from tests.fakes.system import FakeClock
from tests.integration.payment_service.service import API_KEY, control

TAGS = Tags(b"a secret of the tests", "test")
EUR_20 = Money(2_000, "EUR")
_NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class Peer:
    """A payment service to test against: its address and cards that are good and bad there."""

    url: str
    gateway: StripeGateway
    good_card: str
    bad_card: str


def make_gateway(
    url: str, *, clock: FakeClock | None = None, timeout_s: float = 30, key: str = API_KEY
) -> StripeGateway:
    """Make a gateway to the local payment service."""
    return StripeGateway(
        key, tags=TAGS, environment="test", clock=clock or FakeClock(), timeout_s=timeout_s, base_url=url
    )


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PaymentProcess]:
    """Run the local payment service."""
    launch = Launch(
        tmp_path_factory.mktemp("books") / "books.db", API_KEY, flags={"seed": 1, "processing_delay_s": 3600}
    )
    with PaymentProcess(launch) as running:
        yield running


@pytest.fixture(scope="package")
def stranger() -> Iterator[str]:
    """Run localstripe."""
    with localstripe.localstripe() as url:
        yield url


@pytest.fixture
def url(service: PaymentProcess) -> str:
    """The local payment service's address, its faults off."""
    control(service.url, "faults", Faults().as_dict())
    return service.url


@pytest.fixture
def gateway(url: str) -> StripeGateway:
    """A gateway to the local payment service."""
    return make_gateway(url)


@pytest.fixture(params=["local", "localstripe"])
def peer(request: pytest.FixtureRequest) -> Peer:
    """Each payment service in turn."""
    if request.param == "local":
        url = request.getfixturevalue("url")
        return Peer(url, make_gateway(url), "pm_card_visa", "pm_card_visa_chargeDeclined")
    url = request.getfixturevalue("stranger")
    gateway = localstripe.LocalstripeGateway(
        localstripe.API_KEY, tags=TAGS, environment="test", clock=FakeClock(), timeout_s=10, base_url=url
    )
    good, bad = localstripe.card(url, "4242424242424242"), localstripe.card(url, "4000000000000341")
    return Peer(url, gateway, good, bad)


@pytest.fixture
def key() -> OrderKey:
    """An order that no other test has."""
    return OrderKey("gig", 3, f"1-{next(_NUMBERS):032x}")
