"""Items as text: compact JSON that keeps every character as it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from shared.domain.errors import Broken

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.stores.items import Item

_quickly = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_slowly: Callable[[Any], str] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def encode(item: Item) -> str:
    """Write an item; half a character comes through, for whoever checks it next to refuse."""
    try:
        return _quickly(item).decode()
    except UnicodeEncodeError:
        return _slowly(item)


def decode(text: str) -> Item:
    """Read an item back; Broken when the text is damaged."""
    try:
        item: Item = _decode(text)
    except (ValueError, RecursionError) as error:
        raise Broken(f"A stored item cannot be read: {error}.") from error
    return item
