"""A batch of stream records, sorted into what can be read and what cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from consumers.stream.record import Change, Unreadable, read_record, sequence_of


@dataclass(frozen=True, slots=True)
class Batch:
    """The readable changes; the reasons by sequence number why others are not; how many have no number at all.

    `identifiers` maps numbers to their text as delivered, by which a record is reported.
    """

    changes: tuple[Change, ...]
    unreadable: Mapping[int, str]
    identifiers: Mapping[int, str]
    nameless: int


def read_batch(records: Sequence[Any]) -> Batch:
    """Read every record by itself: one that cannot be read spoils no other."""
    changes: list[Change] = []
    unreadable: dict[int, str] = {}
    identifiers: dict[int, str] = {}
    nameless = 0
    for record in records:
        identifier = sequence_of(record)
        if identifier is None:
            nameless += 1
            continue
        identifiers[int(identifier)] = identifier
        try:
            changes.append(read_record(record))
        except Unreadable as error:
            unreadable[int(identifier)] = error.message
    return Batch(tuple(changes), unreadable, identifiers, nameless)
