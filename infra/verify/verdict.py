"""The answer to one invariant: true, false or unchecked, and by what it was checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

MAX_EXAMPLES = 5


class Truth(StrEnum):
    """What is known of an invariant."""

    TRUE = "true"
    FALSE = "false"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One invariant's answer; `because` is a sentence, `examples` name a few of the culprits.

    `suspects` are the order ids whose reading again may clear a fault up.
    """

    invariant: str
    truth: Truth
    because: str
    examples: tuple[str, ...] = ()
    suspects: frozenset[str] = frozenset()


@dataclass(slots=True)
class Findings:
    """What one check has found so far: faults are certain, doubts could not be settled."""

    faults: int = 0
    doubts: int = 0
    examples: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    suspects: set[str] = field(default_factory=set)

    def fault(self, text: str, *suspects: str) -> None:
        """Note something that must not be."""
        self.faults += 1
        self.suspects.update(suspects)
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(text)

    def doubt(self, text: str, *suspects: str) -> None:
        """Note something that could not be settled."""
        self.doubts += 1
        self.suspects.update(suspects)
        if len(self.reasons) < MAX_EXAMPLES:
            self.reasons.append(text)

    def judge(self, text: str, *suspects: str, moving: bool) -> None:
        """Note a fault, or only a doubt when what it leans on was changing while it was read."""
        if moving:
            self.doubt(f"{text}, but it changed while it was read", *suspects)
        else:
            self.fault(text, *suspects)

    def verdict(self, invariant: str, checked_by: str) -> Verdict:
        """Sum up; `checked_by` completes the sentence "Checked by …"."""
        suspects = frozenset(self.suspects)
        if self.faults:
            because = f"{_count(self.faults, 'fault')} found by {checked_by}."
            return Verdict(invariant, Truth.FALSE, because, tuple(self.examples), suspects)
        if self.doubts:
            because = f"{_count(self.doubts, 'doubt')} left by {checked_by}."
            return Verdict(invariant, Truth.UNCHECKED, because, tuple(self.reasons), suspects)
        return Verdict(invariant, Truth.TRUE, f"Checked by {checked_by}.")


def unchecked(invariant: str, because: str) -> Verdict:
    """Say that nothing was there to check it by."""
    return Verdict(invariant, Truth.UNCHECKED, because)


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
