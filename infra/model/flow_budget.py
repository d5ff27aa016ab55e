"""A retry budget for flows: one per shard, or one that all clients share alike."""

from __future__ import annotations

import numpy as np

from infra.model.retry_rules import BudgetScope, RetryRules
from infra.model.scenario import Floats


class FlowBudget:
    """Tokens that retries take and successes give back, per key or for all keys, summed over the clients."""

    def __init__(self, rules: RetryRules, keys: int) -> None:
        self._rules = rules
        self._per_key = rules.scope is BudgetScope.SHARD
        self._full = np.full(keys if self._per_key else 1, float(rules.budget * rules.clients))
        self._level = self._full.copy()

    def refill(self, tick_s: float) -> None:
        """Give back what time gives back."""
        if self._rules.refill_per_s:
            gained = self._rules.refill_per_s * self._rules.clients * tick_s
            np.minimum(self._level + gained, self._full, out=self._level)

    def refund(self, passed: Floats, tries: int) -> None:
        """Give back for requests that passed after so many earlier tries."""
        amount = self._rules.retry_refund if tries else self._rules.success_refund
        np.minimum(self._level + self._over_scope(passed) * amount, self._full, out=self._level)

    def spend(self, wanted: Floats) -> Floats:
        """For each key the share of the wanted retries that the budget pays for; takes the tokens."""
        cost = self._over_scope(wanted) * self._rules.retry_cost
        share = np.minimum(1.0, np.divide(self._level, cost, out=np.ones(len(cost)), where=cost > 0))
        self._level -= share * cost
        return np.broadcast_to(share, wanted.shape)

    def _over_scope(self, mass: Floats) -> Floats:
        return mass if self._per_key else mass.sum(keepdims=True)
