"""Times mean one moment everywhere, and their text sorts as they do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import Invalid
from shared.domain.order import Lane, work_key
from shared.domain.times import format_time_ms, parse_time_ms, sortable_ms

moments = st.integers(0, 4_102_444_800_000)


@given(moments)
def test_a_time_reads_back(at_ms: int) -> None:
    """Writing and reading a time loses nothing."""
    assert parse_time_ms(format_time_ms(at_ms)) == at_ms


@given(moments, moments)
def test_q9_text_order_is_time_order(left: int, right: int) -> None:
    """Q9: times sort as text, at whole seconds beside fractions too, in answers and in keys."""
    assert (format_time_ms(left) < format_time_ms(right)) == (left < right)
    assert (sortable_ms(left) < sortable_ms(right)) == (left < right)
    assert (work_key(Lane.LINE, left, "a") < work_key(Lane.LINE, right, "a")) == (left < right)


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("1970-01-01T00:00:09Z", 9_000),
        ("1970-01-01T00:00:10.5+00:00", 10_500),
        ("1970-01-01T02:00:00+01:00", 3_600_000),
        ("1970-01-02T00:00:00.001-00:30", 88_200_001),
    ],
)
def test_offsets_are_honoured(text: str, at_ms: int) -> None:
    """A time with an offset is the moment it names."""
    assert parse_time_ms(text) == at_ms


@pytest.mark.parametrize(
    "text", ["2027-03-01T10:00:00", "2027-03-01", "tomorrow", "", "1969-12-31T23:59:59Z", "9999-01-01T00:00:00Z"]
)
def test_r12_a_time_without_offset_or_out_of_range_is_refused(text: str) -> None:
    """R12: a time that could mean two moments, or that no key can hold, is refused."""
    with pytest.raises(Invalid):
        parse_time_ms(text)
