"""The keyed tag on our intents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.order_id import OrderKey
from shared.payments.tags import Tags

KEY = OrderKey("gig", 3, "1-" + "a" * 32)
TAGS = Tags(b"secret", "test")


def test_our_own_metadata_name_their_order() -> None:
    """What is written is read back, within the provider's limits."""
    metadata = TAGS.metadata(KEY)

    assert TAGS.order_key(metadata) == KEY
    assert all(len(name) <= 40 and len(value) <= 500 for name, value in metadata.items())


@pytest.mark.parametrize("name", ["onsale_event", "onsale_shard", "onsale_order", "onsale_tag"])
@given(value=st.text())
def test_changed_metadata_name_nothing(name: str, value: str) -> None:
    """Whatever is put in the place of one entry, the tag no longer fits."""
    metadata = TAGS.metadata(KEY)
    if metadata[name] != value:
        assert TAGS.order_key({**metadata, name: value}) is None
    assert TAGS.order_key({key: text for key, text in metadata.items() if key != name}) is None


@pytest.mark.parametrize("other", [Tags(b"another", "test"), Tags(b"secret", "prod")])
def test_another_environment_has_other_tags(other: Tags) -> None:
    """Two environments on one account leave each other's intents alone, whatever environment is written."""
    metadata = other.metadata(KEY)

    assert TAGS.order_key(metadata) is None
    assert TAGS.order_key({**metadata, "onsale_env": "test"}) is None


def test_parts_do_not_run_into_each_other() -> None:
    """Two orders whose parts join to the same text have different tags."""
    one, two = OrderKey("gig1", 2, "x"), OrderKey("gig", 12, "x")
    assert TAGS.metadata(one)["onsale_tag"] != TAGS.metadata(two)["onsale_tag"]
