"""What a throttling endpoint has really answered, for whoever wants to check a client's own figures."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from infra.model.action import Action
from infra.model.reasons import ThrottlingReason


@dataclass(slots=True)
class Truth:
    """Counts since the last reset.

    calls: answers given, and those of them that refused anything at all.
    requests: API calls by table and operation (one that touches several tables counts for each).
    actions: the single writes and reads inside them. units: those served, by table or index ARN.
    """

    calls: int = 0
    throttled_calls: int = 0
    requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    throttled_requests: Counter[tuple[str, str]] = field(default_factory=Counter)
    actions: Counter[tuple[str, str]] = field(default_factory=Counter)
    throttled_actions: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    units: dict[tuple[str, str], float] = field(default_factory=dict)
    unplaced: int = 0
    unpriced: Counter[str] = field(default_factory=Counter)

    def note(
        self, operation: str, actions: tuple[Action, ...], groups: tuple[tuple[ThrottlingReason, ...], ...]
    ) -> None:
        """Count a priced request and what was said to each of its actions."""
        self.calls += 1
        self.throttled_calls += any(groups)
        tables = {action.table for action in actions}
        refused = {action.table for action, group in zip(actions, groups, strict=True) if group}
        for table in tables:
            self.requests[table, operation] += 1
            self.throttled_requests[table, operation] += table in refused
        for action, group in zip(actions, groups, strict=True):
            self.actions[action.table, operation] += 1
            self.throttled_actions[action.table, operation] += bool(group)
            for reason in group:
                self.reasons[action.table, reason.resource, operation, reason.reason] += 1

    def note_served(self, action: Action) -> None:
        """Count the units of an action that was let through."""
        self.unplaced += action.unplaced
        for charge in action.all_charges:
            key = (charge.resource, str(charge.operation))
            self.units[key] = self.units.get(key, 0.0) + charge.units

    def as_json(self) -> dict[str, Any]:
        """Totals, and rows for table, index, operation and reason."""
        return {
            "calls": self.calls,
            "throttled_calls": self.throttled_calls,
            "requests": sum(self.requests.values()),
            "throttled_requests": sum(self.throttled_requests.values()),
            "actions": sum(self.actions.values()),
            "throttled_actions": sum(self.throttled_actions.values()),
            "attempts": [
                {
                    "table": table,
                    "operation": operation,
                    "requests": count,
                    "throttled_requests": self.throttled_requests[table, operation],
                    "actions": self.actions[table, operation],
                    "throttled_actions": self.throttled_actions[table, operation],
                }
                for (table, operation), count in sorted(self.requests.items())
            ],
            "throttles": [
                {"table": table, "resource": resource, "operation": operation, "reason": reason, "count": count}
                for (table, resource, operation, reason), count in sorted(self.reasons.items())
            ],
            "units": [
                {"resource": resource, "kind": kind, "units": units}
                for (resource, kind), units in sorted(self.units.items())
            ],
            "index_writes_of_unknown_place": self.unplaced,
            "unpriced": dict(sorted(self.unpriced.items())),
        }
