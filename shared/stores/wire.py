"""Items as DynamoDB and its streams write them: each value under the letter of its type.

Kept apart from any client, for every store shows its changes in this shape.
Source: "Data type descriptors" and AttributeValue in the Amazon DynamoDB API Reference.
"""

from __future__ import annotations

from typing import Any

Item = dict[str, Any]


def to_wire(item: Item) -> Item:
    """Write a whole item: strings, whole numbers, floats, truth values, bytes, lists and dictionaries."""
    return {name: wire_value(value) for name, value in item.items()}


def from_wire(item: Item) -> Item:
    """Read a whole item back; whole numbers as int, others as float."""
    return {name: plain_value(value) for name, value in item.items()}


def wire_value(value: Any) -> Item:  # noqa: ANN401 - any stored value
    """Write one value; TypeError when it cannot be stored."""
    if isinstance(value, str):
        return {"S": str(value)}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int | float):
        return {"N": repr(value)}
    if isinstance(value, list | tuple):
        return {"L": [wire_value(part) for part in value]}
    if isinstance(value, dict):
        return {"M": to_wire(value)}
    if isinstance(value, bytes):
        return {"B": value}
    raise TypeError(f"{type(value).__name__} cannot be stored")


def plain_value(value: Item) -> Any:  # noqa: ANN401 - any stored value
    """Read one value back; TypeError for a type that none of our items holds."""
    ((kind, content),) = value.items()
    match kind:
        case "S" | "BOOL" | "B":
            return content
        case "N":
            return _number(content)
        case "L":
            return [plain_value(part) for part in content]
        case "M":
            return from_wire(content)
        case _:
            raise TypeError(f"no stored value has the type {kind}")


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
