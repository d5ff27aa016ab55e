"""A quick look at an item's text decides as counting does."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import Invalid
from shared.stores.limits import MAX_ITEM_BYTES, MAX_SORT_KEY_BYTES, check_item, check_written
from shared.stores.sqlite.codec import encode

_TEXTS = st.text(max_size=20) | st.sampled_from(
    ["", "x" * MAX_SORT_KEY_BYTES, "x" * (MAX_SORT_KEY_BYTES + 1), "山" * 900]
)
_VALUES = st.recursive(
    _TEXTS | st.integers() | st.just("y" * MAX_ITEM_BYTES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
_ITEMS = st.fixed_dictionaries({"pk": _TEXTS, "sk": _TEXTS}, optional={"a": _VALUES, "b": _VALUES})


def _refusal(check: Any, *given_: Any) -> str | None:  # noqa: ANN401 - either check
    try:
        check(*given_)
    except Invalid as error:
        return error.message
    return None


@given(_ITEMS)
def test_what_is_written_is_judged_alike(item: dict[str, Any]) -> None:
    """Too large, an empty or too long key, half a character: refused with the same words, and nothing else is."""
    assert _refusal(check_written, item, encode(item)) == _refusal(check_item, item)
