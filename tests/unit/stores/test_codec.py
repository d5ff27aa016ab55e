"""How items stand in SQLite."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import Broken
from shared.stores.sqlite.codec import decode, encode

VALUES = st.recursive(
    st.text() | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
ITEMS = st.dictionaries(st.text(), VALUES, max_size=6)


@given(ITEMS)
def test_an_item_comes_back_as_it_was(item: dict[str, object]) -> None:
    """Any text and any whole number, however large; every other reader of JSON reads the same."""
    text = encode(item)

    assert decode(text) == item
    assert json.loads(text) == item


def test_half_a_character_comes_through() -> None:
    """Whoever checks the item next refuses it with a sentence."""
    assert json.loads(encode({"holder": "a\ud800"})) == {"holder": "a\ud800"}


@pytest.mark.parametrize("text", ["", "{", '{"pk": "gig#1"', "\x00", '{"rev": 1e999}', "NaN", "[" * 9_999])
def test_damaged_text_is_told(text: str) -> None:
    """It is our fault and nobody else's, and it has a name."""
    with pytest.raises(Broken):
        decode(text)
