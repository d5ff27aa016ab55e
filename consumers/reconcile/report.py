"""What a reconciliation found."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

# Findings that are told one by one; beyond them only counted.
MAX_TOLD = 1000


class Course(StrEnum):
    """What is done about a difference."""

    LOOK = "look"
    """A worker is sent to look: it knows what to do, and does it once."""
    UNDER_WAY = "under_way"
    """A worker is at it, or waits for the payment service."""
    PERSON = "person"
    """Nobody but a person can know what is right."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference between an order and its payment, in a sentence."""

    course: Course
    code: str
    sentence: str
    event_id: str
    order_id: str
    intent_id: str | None


@dataclass(slots=True)
class Report:
    """One walk. `complete` is False when time ran out; `cursor` is then where the payment service's books go on."""

    intents: int = 0
    foreign: int = 0
    orders: int = 0
    mended: int = 0
    under_way: int = 0
    for_a_person: int = 0
    complete: bool = False
    cursor: str | None = None
    findings: list[Finding] = field(default_factory=list)

    def add(self, finding: Finding) -> None:
        """Count a finding, and keep it while there is room."""
        self.mended += finding.course is Course.LOOK
        self.under_way += finding.course is Course.UNDER_WAY
        self.for_a_person += finding.course is Course.PERSON
        if finding.course is not Course.UNDER_WAY and len(self.findings) < MAX_TOLD:
            self.findings.append(finding)

    @property
    def open(self) -> int:
        """Differences that are left, whoever has to do with them."""
        return self.mended + self.under_way + self.for_a_person

    def as_dict(self) -> dict[str, Any]:
        """Return the report, JSON-ready."""
        return {
            "intents": self.intents,
            "foreign": self.foreign,
            "orders": self.orders,
            "mended": self.mended,
            "under_way": self.under_way,
            "for_a_person": self.for_a_person,
            "open": self.open,
            "complete": self.complete,
            "cursor": self.cursor,
            "findings": [
                {
                    "course": str(one.course),
                    "code": one.code,
                    "sentence": one.sentence,
                    "event_id": one.event_id,
                    "order_id": one.order_id,
                    "intent_id": one.intent_id,
                }
                for one in self.findings
            ],
        }
