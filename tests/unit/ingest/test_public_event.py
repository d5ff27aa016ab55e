"""What anyone may see of a sale."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shared.domain.sale import Sale, SaleStatus
from shared.ports.control import Notice, PoolNotice, Word
from shared.stores.sqlite import SqliteStore
from tests.builders import SALT
from tests.fakes.system import FakeClock
from tests.unit.ingest.client import Client


def _change(store: SqliteStore, sale: Sale) -> None:
    assert store.save_sale(replace(sale, version=sale.version + 1), seen_version=sale.version)


def test_a_sale_is_public(ann: Client) -> None:
    """Times, prices and availability, cacheable for two seconds, without the salt or how the sale is cut."""
    reply = ann.ask("GET", "/v1/events/gig")

    assert (reply.status, reply.headers["Cache-Control"]) == (200, "public, max-age=2")
    shown = reply.json
    assert (shown["status"], shown["server_time"]) == ("open", "1970-01-01T00:00:10.000Z")
    assert shown["ticket_types"] == [
        {
            "ticket_type_id": "standing",
            "name": "Standing",
            "price": {"minor": 2500, "currency": "EUR", "text": "25.00 EUR"},
            "availability": "available",
        }
    ]
    assert SALT.hex() not in reply.text
    assert not {"salt", "shards", "shard_counts", "pools", "accept_per_s"} & shown.keys()


@pytest.mark.parametrize("word", list(Word))
def test_availability_is_a_word(word: Word, ann: Client, inner: SqliteStore) -> None:
    """Each type shows the word that the workers published for its pool."""
    inner.publish("gig", Notice(9_500, {"floor": PoolNotice(word, 0, sold_out=False)}, 7, 1, 2, 3.0))

    shown = ann.ask("GET", "/v1/events/gig").json

    assert shown["ticket_types"][0]["availability"] == word
    assert (shown["waiting"], shown["as_of"]) == (7, "1970-01-01T00:00:09.500Z")


@pytest.mark.parametrize(
    ("at_ms", "status", "shown"),
    [
        (999, SaleStatus.ACTIVE, "not-on-sale-yet"),
        (1_000, SaleStatus.ACTIVE, "open"),
        (2_000, SaleStatus.PAUSED, "paused"),
        (1_000_000_000, SaleStatus.ACTIVE, "closed"),
        (2_000, SaleStatus.CLOSED, "closed"),
        (2_000, SaleStatus.CANCELLED, "cancelled"),
    ],
)
def test_the_status_counts_the_time(
    at_ms: int, status: SaleStatus, shown: str, ann: Client, inner: SqliteStore, clock: FakeClock
) -> None:
    """One word for what staff decided and what the clock says."""
    _change(inner, replace(inner.get_sale("gig").sale, status=status))
    clock.at_ms = at_ms

    assert ann.ask("GET", "/v1/events/gig").json["status"] == shown


def test_no_such_event_is_not_cached_as_a_sale(ann: Client) -> None:
    """404 is a problem, and no cache on the way keeps it."""
    reply = ann.ask("GET", "/v1/events/nowhere")

    assert (reply.status, reply.problem, reply.headers["Cache-Control"]) == (404, "not-found", "no-store")
