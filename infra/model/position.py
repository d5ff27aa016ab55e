"""Where a key lies: partition keys are hashed, sort keys keep their order."""

from __future__ import annotations

from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b

Position = tuple[int, bytes]
"""Hash of the partition key, then the sort key in an order-preserving form."""

HASH_SPACE = 2**64
_EXPONENT_BIAS = 512


@lru_cache(maxsize=200_000)
def key_hash(partition_key: bytes, salt: bytes = b"") -> int:
    """A uniform 64-bit hash. DynamoDB's own function is not published; any uniform one will do.

    Source for the two steps: "Partitions and data distribution in DynamoDB".
    """
    return int.from_bytes(blake2b(partition_key, digest_size=8, key=salt).digest(), "big")


def name_salt(name: str) -> bytes:
    """A salt that makes the hashes of one table or index unrelated to those of another."""
    return blake2b(name.encode(), digest_size=16).digest()


def sortable_number(text: str) -> bytes:
    """A number as bytes that sort as numbers do (sign, exponent, digits; negatives inverted)."""
    value = Decimal(text)
    if not value:
        return b"\x01"
    _, digits, exponent = value.as_tuple()
    magnitude = int(exponent) + len(digits) - 1 + _EXPONENT_BIAS
    significant = "".join(map(str, digits)).rstrip("0")
    body = magnitude.to_bytes(2, "big") + bytes(ord(digit) - 47 for digit in significant)
    if value > 0:
        return b"\x02" + body
    return b"\x00" + bytes(255 - byte for byte in body) + b"\xff"
