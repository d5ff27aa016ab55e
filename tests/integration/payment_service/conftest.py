"""One payment service for the tests of this folder, with every fault off at the start of each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import stripe

from infra.local.payment_service.faults import Faults
from infra.local.payment_service.launch import Launch, PaymentProcess
from tests.integration.payment_service.service import API_KEY, PUBLISHABLE_KEY, SIGNING_SECRET, Sink, client, control


@pytest.fixture(scope="package")
def sink() -> Iterator[Sink]:
    """Run a webhook endpoint."""
    with Sink() as endpoint:
        yield endpoint


@pytest.fixture(scope="package")
def process(sink: Sink, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PaymentProcess]:
    """Run the service, calling the endpoint."""
    launch = Launch(
        data=tmp_path_factory.mktemp("books") / "books.db",
        api_key=API_KEY,
        publishable_key=PUBLISHABLE_KEY,
        webhook_url=sink.url,
        webhook_secrets=(SIGNING_SECRET,),
        flags={"webhook_retry_first_s": 0.01, "processing_delay_s": 3600, "seed": 1},
    )
    with PaymentProcess(launch) as running:
        yield running


@pytest.fixture
def url(process: PaymentProcess) -> str:
    """The service's address, its faults off."""
    control(process.url, "faults", Faults().as_dict())
    return process.url


@pytest.fixture
def api(url: str) -> stripe.StripeClient:
    """The official client with the secret key."""
    return client(url)
