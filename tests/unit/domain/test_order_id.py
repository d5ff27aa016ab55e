"""Order ids are unforgeable, distinct and spread evenly."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import NotFound
from shared.domain.order_id import (
    MAX_MAP_VERSION,
    OrderKey,
    home_of,
    locate_order,
    older_homes,
    order_digest,
    order_key,
)

SALT = bytes(range(16))
parts = st.text(max_size=20)


def digest(key: str, *, buyer: str = "ann", event: str = "gig", salt: bytes = SALT) -> bytes:
    """Name the order of one key as the door does."""
    return order_digest(salt, route="POST orders", event_id=event, buyer_id=buyer, idempotency_key=key)


@given(st.tuples(parts, parts, parts, parts), st.tuples(parts, parts, parts, parts))
def test_different_requests_never_share_an_id(left: tuple[str, ...], right: tuple[str, ...]) -> None:
    """K6: two requests share an id only when route, event, buyer and key are all equal."""

    def name(request: tuple[str, ...]) -> bytes:
        route, event_id, buyer_id, key = request
        return order_digest(SALT, route=route, event_id=event_id, buyer_id=buyer_id, idempotency_key=key)

    assert (name(left) == name(right)) == (left == right)


def test_moving_a_border_between_parts_changes_the_id() -> None:
    """K6: `ab` + `c` is another buyer and key than `a` + `bc`."""
    assert digest("c", buyer="ab") != digest("bc", buyer="a")


@given(st.tuples(parts, parts, parts, parts))
def test_an_id_is_made_as_it_ever_was(request: tuple[str, ...]) -> None:
    """A key is honoured for the whole life of a sale, by every version of this code: SHA-256 keyed with the salt."""
    message = b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in request)
    route, event_id, buyer_id, key = request

    named = order_digest(SALT, route=route, event_id=event_id, buyer_id=buyer_id, idempotency_key=key)

    assert named == hmac.new(SALT, message, hashlib.sha256).digest()[:16]


def test_another_salt_gives_other_ids() -> None:
    """Nobody who lacks the sale's salt can compute an id, hence aim at a shard."""
    assert digest("1") != digest("1", salt=bytes(16))


@given(st.binary(min_size=16, max_size=16), st.lists(st.integers(1, 1024), min_size=1, max_size=5))
def test_a_public_id_leads_back_to_its_shard_under_every_version(raw: bytes, counts: list[int]) -> None:
    """An order is found again by its id alone, whichever version of the map it was written under."""
    for version in range(1, len(counts) + 1):
        key = order_key("gig", raw, counts, version)
        assert 0 <= key.shard < counts[version - 1]
        assert locate_order("gig", key.order_id, counts) == key


@pytest.mark.parametrize(
    "order_id",
    [
        "",
        "1",
        "1-",
        "0-" + "a" * 32,
        "1-" + "a" * 31,
        "1-" + "A" * 32,
        "1-" + "a" * 32 + "\n",
        "1#2",
        "9-" + "a" * 32,
        "½",
    ],
)
def test_what_is_no_order_id_is_not_found(order_id: str) -> None:
    """R13: an id of another form, or of a map version that does not exist, is not found."""
    with pytest.raises(NotFound):
        locate_order("gig", order_id, (16,))


def test_shards_fill_evenly() -> None:
    """10,000 orders of one buyer fill 16 shards within six standard deviations of evenly."""
    filled = [0] * 16
    for number in range(10_000):
        filled[order_key("gig", digest(str(number)), (16,), 1).shard] += 1
    assert max(abs(count - 625) for count in filled) < 6 * (10_000 * (1 / 16) * (15 / 16)) ** 0.5


def test_the_partition_key_joins_event_and_shard() -> None:
    """The composite key is `event_id#shard`."""
    assert OrderKey("gig", 7, "1-x").partition == "gig#7"


@st.composite
def grown_maps(draw: st.DrawFn) -> tuple[int, ...]:
    """Draw a map that has grown up to as often as it may."""
    counts = draw(st.sets(st.integers(1, 1024), min_size=1, max_size=MAX_MAP_VERSION))
    return tuple(sorted(counts))


@given(st.binary(min_size=16, max_size=16), grown_maps())
def test_every_writer_with_an_older_map_is_among_the_older_homes(raw: bytes, counts: tuple[int, ...]) -> None:
    """Q14: wherever a process with an older map would put a key, the order knows of it; and each id leads there."""
    home, older = home_of("gig", raw, counts), older_homes("gig", raw, counts)
    written = {home_of("gig", raw, counts[:known]) for known in range(1, len(counts) + 1)}

    assert written == {home, *older}
    assert home not in older
    assert len({key.order_id for key in written}) == len(written)
    for key in written:
        assert locate_order("gig", key.order_id, counts) == key


@given(st.binary(min_size=16, max_size=16), st.integers(1, 100), st.integers(2, 5))
def test_what_a_growing_map_does_not_move_keeps_its_address(raw: bytes, count: int, times: int) -> None:
    """A key whose shard is the same under the grown map has one home only, under the older version."""
    before = home_of("gig", raw, (count,))
    grown = (count, count * times)

    moved = int.from_bytes(raw, "big") % grown[1] >= count
    assert (home_of("gig", raw, grown) != before) == moved
    assert older_homes("gig", raw, grown) == ((before,) if moved else ())
