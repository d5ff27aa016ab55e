"""Items on the wire and back."""

from __future__ import annotations

import pytest
from boto3.dynamodb.types import TypeSerializer
from hypothesis import given
from hypothesis import strategies as st

from shared.stores.items import order_item, read_order
from shared.stores.wire import from_wire, to_wire, wire_value
from tests.builders import make_order

values = st.recursive(
    st.text() | st.integers(-(2**53), 2**53) | st.booleans() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=1), inner, max_size=4),
    max_leaves=20,
)
items = st.dictionaries(st.text(min_size=1), values, max_size=6)


@given(items)
def test_an_item_comes_back_as_it_went(item: dict[str, object]) -> None:
    """Text of any script, whole numbers up to 2^53, truth values, bytes, lists and dictionaries survive."""
    assert from_wire(to_wire(item)) == item


@given(items)
def test_the_wire_form_is_the_sdks_own(item: dict[str, object]) -> None:
    """The letters and their contents are those that the SDK's serializer writes."""
    sdk = TypeSerializer()

    assert to_wire(item) == {name: sdk.serialize(value) for name, value in item.items()}


def test_a_fraction_comes_back_as_a_float() -> None:
    """Numbers that are not whole are read as floats, whole ones as int."""
    assert from_wire({"a": {"N": "1.5"}, "b": {"N": "100"}}) == {"a": 1.5, "b": 100}


def test_an_order_survives_the_wire() -> None:
    """The store reads back the very order that it wrote."""
    order = make_order(holder="日本 🎫", op="a")

    assert read_order(from_wire(to_wire(order_item(order)))) == order


@pytest.mark.parametrize("value", [None, {1, 2}, object()])
def test_what_cannot_be_stored_is_refused(value: object) -> None:
    """A type without a letter is a mistake of the program."""
    with pytest.raises(TypeError):
        wire_value(value)


def test_a_foreign_type_is_refused() -> None:
    """An item that we did not write is not guessed at."""
    with pytest.raises(TypeError):
        from_wire({"a": {"NS": ["1"]}})
