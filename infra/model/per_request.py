"""The simulation one request at a time, on the partition model itself."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass
from itertools import accumulate, count

import numpy as np

from infra.model.bucket import TokenBucket, to_pico
from infra.model.partition_model import Charge, PartitionModel
from infra.model.reasons import Operation
from infra.model.retry_rules import BudgetScope
from infra.model.scenario import Floats, Outcome, Scenario

_US = 1_000_000


@dataclass(slots=True)
class _Request:
    """One buyer's order on its way: the key it aims at, tries so far, times it came back."""

    group: int
    number: int
    sort_key: bytes
    client: int
    tries: int = 0
    returns: int = 0


@dataclass(slots=True)
class _Budget:
    left: float
    at_us: int


def simulate_requests(scenario: Scenario) -> Outcome:
    """Run a scenario request by request: exact, about 15 microseconds each."""
    return _Run(scenario).run()


class _Run:
    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._dice = random.Random(scenario.seed)
        self._model = PartitionModel(scenario.limits, scenario.assumed)
        indexes = {} if scenario.index is None else {scenario.index_arn: scenario.index}
        self._model.create_table(
            scenario.table_arn, scenario.table, indexes=indexes, has_local_index=scenario.has_local_index
        )
        seconds = int(np.ceil(scenario.duration_s))
        self._out = Outcome.empty(seconds, scenario.retries.attempts)
        self._due: list[tuple[int, int, _Request]] = []
        self._order = count()
        self._budgets: dict[object, _Budget] = {}
        per_s = scenario.accept_per_s
        self._door = None if per_s is None else TokenBucket(per_s, per_s)
        self._group_marks = list(accumulate(group.share for group in scenario.groups))
        self._key_marks = [list(accumulate(group.weights)) for group in scenario.groups]
        self._heat: dict[tuple[str, int], float] = {}

    def run(self) -> Outcome:
        end_us = round(self._scenario.duration_s * _US)
        arrival_us = self._next_arrival_us(0)
        while True:
            if self._due and self._due[0][0] <= arrival_us:
                now_us, _, request = heapq.heappop(self._due)
            elif arrival_us < end_us:
                now_us, request = arrival_us, self._new_request()
                self._out.arrivals[now_us // _US] += 1
                arrival_us = self._next_arrival_us(now_us)
            else:
                break
            if now_us >= end_us:
                break
            if request.tries or self._admitted(request, now_us):
                self._try_store(request, now_us)
        self._out.gave_up = float(self._out.arrivals.sum() - self._out.accepted.sum())
        self._out.heat = self._heat_of(self._scenario.table_arn)
        if self._scenario.index is not None:
            self._out.index_heat = self._heat_of(self._scenario.index_arn)
        return self._out

    def _next_arrival_us(self, now_us: int) -> int:
        """Poisson arrivals of a varying rate, by thinning."""
        arrivals = self._scenario.arrivals
        peak, end_us = arrivals.peak_per_s, arrivals.duration_s * _US
        at = float(now_us)
        while at < end_us:
            at += self._dice.expovariate(peak) * _US
            if self._dice.random() * peak <= arrivals.rate_at(at / _US):
                return int(at)
        return 2**62

    def _new_request(self) -> _Request:
        scenario, dice = self._scenario, self._dice
        group = dice.choices(range(len(scenario.groups)), cum_weights=self._group_marks)[0]
        marks = self._key_marks[group]
        number = dice.choices(range(len(marks)), cum_weights=marks)[0]
        return _Request(group, number, dice.randbytes(8), dice.randrange(scenario.retries.clients))

    def _admitted(self, request: _Request, now_us: int) -> bool:
        if self._door is None:
            return True
        if self._door.has(to_pico(1), now_us):
            self._door.take(to_pico(1))
            return True
        self._out.refused_at_door[now_us // _US] += 1
        self._come_back(request, now_us)
        return False

    def _try_store(self, request: _Request, now_us: int) -> None:
        second = now_us // _US
        self._out.attempts[second] += 1
        charges = self._charges(request, now_us)
        if self._model.attempt(charges, now_us).passed:
            self._out.accepted[second] += 1
            self._out.accepted_by_try[request.tries] += 1
            self._refund(request, now_us)
            for charge in charges:
                self._note_heat(charge)
            return
        self._out.throttled[second] += 1
        request.tries += 1
        rules = self._scenario.retries
        if request.tries < rules.attempts and self._spend(request, now_us):
            wait_s = self._dice.random() * rules.longest_wait_s(request.tries - 1)
            self._push(request, now_us + round(wait_s * _US))
            return
        self._out.failed[second] += 1
        request.tries = 0
        self._come_back(request, now_us)

    def _charges(self, request: _Request, now_us: int) -> list[Charge]:
        scenario = self._scenario
        key = scenario.groups[request.group].key(request.number, now_us / _US)
        risen = now_us.to_bytes(8, "big")
        sort_key = risen if scenario.rising_sort else request.sort_key
        charges = [Charge(scenario.table_arn, Operation.WRITE, key, sort_key, scenario.write_units)]
        if scenario.index is not None:
            sort_key = risen if scenario.index_rising_sort else request.sort_key
            charges.append(Charge(scenario.index_arn, Operation.WRITE, key, sort_key, scenario.index_units))
        return charges

    def _come_back(self, request: _Request, now_us: int) -> None:
        if request.returns < self._scenario.returns:
            request.returns += 1
            wait_s = self._dice.uniform(*self._scenario.return_after_s)
            self._push(request, now_us + round(wait_s * _US))

    def _push(self, request: _Request, at_us: int) -> None:
        heapq.heappush(self._due, (at_us, next(self._order), request))

    def _budget(self, request: _Request, now_us: int) -> _Budget:
        rules = self._scenario.retries
        per_client = rules.scope is BudgetScope.CLIENT
        key = request.client if per_client else (request.client, request.group, request.number)
        budget = self._budgets.setdefault(key, _Budget(rules.budget, now_us))
        budget.left = min(rules.budget, budget.left + rules.refill_per_s * (now_us - budget.at_us) / _US)
        budget.at_us = now_us
        return budget

    def _spend(self, request: _Request, now_us: int) -> bool:
        budget = self._budget(request, now_us)
        if budget.left < self._scenario.retries.retry_cost:
            return False
        budget.left -= self._scenario.retries.retry_cost
        return True

    def _refund(self, request: _Request, now_us: int) -> None:
        rules, budget = self._scenario.retries, self._budget(request, now_us)
        refund = rules.retry_refund if request.tries else rules.success_refund
        budget.left = min(rules.budget, budget.left + refund)

    def _note_heat(self, charge: Charge) -> None:
        space = self._model.space(charge.resource)
        partition = space.partition_at((space.hash_of(charge.partition_key), charge.sort_key))
        key = (charge.resource, id(partition))
        self._heat[key] = self._heat.get(key, 0.0) + charge.units

    def _heat_of(self, arn: str) -> Floats:
        full = self._scenario.limits.partition_write_units * self._scenario.duration_s
        partitions = self._model.space(arn).partitions
        return np.array([self._heat.get((arn, id(p)), 0.0) / full for p in partitions])
