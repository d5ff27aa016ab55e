"""Rules for trying again after a throttle: our own, and the SDK's for comparison."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from shared.domain.errors import Throttled
from shared.retry import RetryPolicy


class BudgetScope(StrEnum):
    """Who shares one retry budget."""

    SHARD = "shard"
    CLIENT = "client"


@dataclass(frozen=True, slots=True)
class RetryRules:
    """Up to `attempts` tries with a full-jitter wait of at most min(cap, base * 2^n) before retry n.

    A retry takes `retry_cost` tokens from a budget of `budget` tokens. Time gives back `refill_per_s`, a
    success at the first try `success_refund`, one after a retry `retry_refund`. `clients`: how many
    processes or client objects share the load; each has budgets of its own.
    """

    attempts: int
    base_s: float
    cap_s: float
    budget: float
    retry_cost: float
    success_refund: float
    retry_refund: float
    refill_per_s: float
    scope: BudgetScope
    clients: int = 1

    def longest_wait_s(self, retry: int) -> float:
        """The upper end of the wait before a retry, counted from 0."""
        return min(self.cap_s, self.base_s * 2.0**retry)


def our_rules(processes: int = 1) -> RetryRules:
    """The rules the stores live by (`shared.retry`): one hot shard uses up its own budget and no other's."""
    policy = RetryPolicy()
    return RetryRules(
        policy.tries[Throttled.code],
        policy.base_s,
        policy.cap_s,
        budget=policy.budget,
        retry_cost=1,
        success_refund=policy.refill_per_success,
        retry_refund=policy.refill_per_success,
        refill_per_s=policy.refill_per_s,
        scope=BudgetScope.SHARD,
        clients=processes,
    )


def sdk_rules(clients: int) -> RetryRules:
    """The SDK's `standard` mode for DynamoDB: 4 attempts, 500 tokens a client, 5 a throttle retry.

    Source: botocore 1.44, `botocore/retries/standard.py` (throttle base 1 s, cap 20 s, full jitter)
    and `quota.py`.
    """
    return RetryRules(
        4,
        1.0,
        20.0,
        budget=500,
        retry_cost=5,
        success_refund=1,
        retry_refund=5,
        refill_per_s=0,
        scope=BudgetScope.CLIENT,
        clients=clients,
    )


def no_retries() -> RetryRules:
    """One attempt."""
    return replace(our_rules(), attempts=1)
