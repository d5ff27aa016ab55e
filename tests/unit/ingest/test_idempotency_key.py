"""The header, character by character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import Malformed
from ingest.idempotency_key import MAX_LENGTH, read_idempotency_key

VISIBLE = "".join(chr(code) for code in range(0x21, 0x7F))


@pytest.mark.parametrize(
    ("header", "key"),
    [
        (None, None),
        ("abc", "abc"),
        ('"abc"', "abc"),
        ('  "abc" ', "abc"),
        ('"a,b"', "a,b"),
        (r'"a\"b\\c"', r'a"b\c'),
        ("x" * 255, "x" * 255),
        ('"' + "x" * 255 + '"', "x" * 255),
        ("8e03978e-40d5-43dd-bc93-6894a57f9324", "8e03978e-40d5-43dd-bc93-6894a57f9324"),
    ],
)
def test_a_key_is_read(header: str | None, key: str | None) -> None:
    """A structured string and a bare token are both understood."""
    assert read_idempotency_key(header) == key


@given(st.text(alphabet=VISIBLE, min_size=1, max_size=MAX_LENGTH))
def test_every_visible_key_can_be_quoted(key: str) -> None:
    """Quoting and reading gives the key back, whatever it is made of."""
    quoted = key.replace("\\", "\\\\").replace('"', '\\"')

    assert read_idempotency_key(f'"{quoted}"') == key


@given(st.text(max_size=400))
def test_a_header_is_read_or_refused(header: str) -> None:
    """Whatever comes is a key within bounds or Malformed."""
    try:
        key = read_idempotency_key(header)
    except Malformed:
        return
    assert key is not None
    assert 1 <= len(key) <= MAX_LENGTH
    assert set(key) <= set(VISIBLE)
