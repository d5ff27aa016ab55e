"""For which stores there are fibers, and how they speak to them."""

from __future__ import annotations

import pytest

from infra.local.gateway import MAX_FIBERS
from infra.local.rush import Rush
from shared.metering.watch import Watch
from shared.settings import read_settings
from shared.system import THREADS
from tests.fakes.system import FakeClock

_DYNAMODB = {"ONSALE_STORE": "dynamodb"}


def test_a_file_is_for_fibers_and_needs_no_network() -> None:
    """Callers wait by fibers; nothing is sent."""
    rush = Rush(read_settings({}))
    host = rush.host(16, Watch(FakeClock()))

    assert host.waiting is rush.fibers
    assert (host.exchange, host.at_once) == (None, MAX_FIBERS)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8000", "http://localhost:8000/", "http://[::1]:8000"])
def test_a_server_on_this_machine_is_spoken_to_by_fibers(url: str) -> None:
    """Nothing stands between."""
    rush = Rush(read_settings({**_DYNAMODB, "ONSALE_DYNAMODB_URL": url}))

    assert rush.fibers is not None
    assert rush.host(16, Watch(FakeClock())).exchange is not None


@pytest.mark.parametrize(
    "url",
    [
        None,
        "https://127.0.0.1:8000",
        "http://dynamodb.example:8000",
        "http://127.0.0.2:8000",
        "http://ann:pass@127.0.0.1:8000",
    ],
)
def test_what_needs_more_than_a_connection_is_left_to_the_sdk(url: str | None) -> None:
    """AWS itself, another machine behind a proxy, certificates, passwords: threads, as ever."""
    settings = read_settings({**_DYNAMODB, **({"ONSALE_DYNAMODB_URL": url} if url else {})})
    rush = Rush(settings)
    host = rush.host(16, Watch(FakeClock()))

    assert rush.fibers is None
    assert (host.waiting, host.exchange, host.at_once) == (THREADS, None, 16)
