"""The size of an item and what it costs to write or read, by DynamoDB's rules.

Sources: "DynamoDB item sizes and formats", "DynamoDB read and write operations".
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

KIB = 1024
MAX_ITEM_BYTES = 400 * KIB
_CONTAINER_BYTES = 3
_ELEMENT_BYTES = 1

AttributeValue = Mapping[str, Any]
"""DynamoDB JSON: one member that names the type, such as `{"S": "text"}`."""
Item = Mapping[str, AttributeValue]


def number_bytes(text: str) -> int:
    """About one byte per two significant digits, plus one; a minus sign is one more."""
    mantissa = text.lower().split("e")[0]
    digits = mantissa.replace(".", "").lstrip("+-").strip("0")
    return math.ceil(len(digits) / 2) + 1 + (1 if text.startswith("-") else 0)


def value_bytes(value: AttributeValue) -> int:
    """Bytes of one attribute value; `ValueError` for what is not DynamoDB JSON."""
    if len(value) != 1:
        raise ValueError("An attribute value names exactly one type.")
    ((kind, content),) = value.items()
    size_of = _SIZES.get(kind)
    if size_of is None:
        raise ValueError(f"No attribute type is called {kind!r}.")
    return size_of(content)


def _text_bytes(content: str) -> int:
    return len(content.encode("utf-8", "surrogatepass"))


def _binary_bytes(content: bytes | str) -> int:
    return len(content) if isinstance(content, bytes) else len(base64.b64decode(content))


def _list_bytes(content: Sequence[AttributeValue]) -> int:
    return _CONTAINER_BYTES + sum(value_bytes(element) + _ELEMENT_BYTES for element in content)


def _map_bytes(content: Item) -> int:
    return _CONTAINER_BYTES + item_bytes(content) + _ELEMENT_BYTES * len(content)


_SIZES: dict[str, Callable[[Any], int]] = {
    "S": _text_bytes,
    "N": number_bytes,
    "B": _binary_bytes,
    "BOOL": lambda _: 1,
    "NULL": lambda _: 1,
    "SS": lambda texts: sum(map(_text_bytes, texts)),
    "NS": lambda numbers: sum(map(number_bytes, numbers)),
    "BS": lambda blobs: sum(map(_binary_bytes, blobs)),
    "L": _list_bytes,
    "M": _map_bytes,
}


def item_bytes(item: Item) -> int:
    """Names and values of all attributes, in bytes."""
    return sum(_text_bytes(name) + value_bytes(value) for name, value in item.items())


def write_units(size_bytes: int, *, transactional: bool = False) -> int:
    """One unit per KiB begun, at least one; a transaction writes twice."""
    return max(1, math.ceil(size_bytes / KIB)) * (2 if transactional else 1)


def read_units(size_bytes: int, *, consistent: bool, transactional: bool = False) -> float:
    """One unit per 4 KiB begun if consistent, half if not, two in a transaction."""
    blocks = max(1, math.ceil(size_bytes / (4 * KIB)))
    if transactional:
        return 2.0 * blocks
    return float(blocks) if consistent else blocks / 2
