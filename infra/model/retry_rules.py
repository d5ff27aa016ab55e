"""Rules for trying again after a throttle: our own, and the SDK's for comparison."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BudgetScope(StrEnum):
    """Who shares one retry budget."""

    SHARD = "shard"
    CLIENT = "client"


@dataclass(frozen=True, slots=True)
class RetryRules:
    """Up to `attempts` tries with a full-jitter wait of at most min(cap, base * 2^n) before retry n.

    A retry takes `retry_cost` tokens from a budget of `budget` tokens; success gives back what its
    retry took, or `success_refund` at the first try. `clients`: how many client objects share the load
    (only for the scope of a client).
    """

    attempts: int
    base_s: float
    cap_s: float
    budget: float
    retry_cost: float
    success_refund: float
    scope: BudgetScope
    clients: int = 1

    def longest_wait_s(self, retry: int) -> float:
        """The upper end of the wait before a retry, counted from 0."""
        return min(self.cap_s, self.base_s * 2.0**retry)


def our_rules() -> RetryRules:
    """Three attempts within half a second and a budget per shard: one hot shard starves nobody else."""
    return RetryRules(3, 0.05, 0.5, budget=100, retry_cost=1, success_refund=0.1, scope=BudgetScope.SHARD)


def sdk_rules(clients: int) -> RetryRules:
    """Botocore's `standard` mode for DynamoDB: 4 attempts, 500 tokens a client, 5 a throttle retry.

    Source: botocore 1.44, `botocore/retries/standard.py` (throttle base 1 s, cap 20 s, full jitter)
    and `quota.py`.
    """
    return RetryRules(
        4, 1.0, 20.0, budget=500, retry_cost=5, success_refund=1, scope=BudgetScope.CLIENT, clients=clients
    )


def no_retries() -> RetryRules:
    """One attempt."""
    return RetryRules(1, 0.05, 0.05, budget=0, retry_cost=1, success_refund=0, scope=BudgetScope.CLIENT)
