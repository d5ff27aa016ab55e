"""The simulation as flows: expected numbers per key and tick, for any rate."""

from __future__ import annotations

import numpy as np

from infra.model.cells import Cells, Keys
from infra.model.delay_line import DelayLine
from infra.model.flow_space import FlowSpace
from infra.model.key_space import KeySpace
from infra.model.reasons import Resource
from infra.model.retry_rules import BudgetScope
from infra.model.scenario import Floats, Outcome, Scenario

TICK_S = 0.05
_ROUNDS = 2


def simulate_flows(scenario: Scenario, tick_s: float = TICK_S) -> Outcome:
    """Run a scenario in steps of `tick_s`; the cost depends on keys and seconds, not on the rate.

    New requests per key and tick are Poisson draws; what the buckets serve and what waits for a retry
    are expected numbers. A tick has to be short beside a bucket's depth (1 s).
    """
    return _Run(scenario, tick_s).run()


def total_of(masses: list[Floats]) -> Floats:
    """The sum of several masses, key by key."""
    return np.asarray(np.sum(masses, axis=0), dtype=np.float64)


class _Run:
    def __init__(self, scenario: Scenario, tick_s: float) -> None:
        self._scenario, self._tick_s = scenario, tick_s
        self._rng = np.random.default_rng(scenario.seed)
        self._out = Outcome.empty(int(np.ceil(scenario.duration_s)), scenario.retries.attempts)
        self._keys = Keys(scenario)
        names = [(scenario.table_arn, Resource.TABLE, scenario.table, scenario.write_units)]
        if scenario.index is not None:
            names.append((scenario.index_arn, Resource.INDEX, scenario.index, scenario.index_units))
        self._maps = [KeySpace(arn, kind, cap, scenario.limits, scenario.assumed) for arn, kind, cap, _ in names]
        self._spaces = [FlowSpace(scenario, i, cap, units) for i, (_, _, cap, units) in enumerate(names)]
        self._cells = Cells(self._keys, self._maps, 0.0)
        self._place()
        count = len(self._keys)
        rules = scenario.retries
        self._waits = [DelayLine(count, 0, rules.longest_wait_s(i) / tick_s) for i in range(rules.attempts - 1)]
        from_s, to_s = scenario.return_after_s
        self._away = [DelayLine(count, from_s / tick_s, to_s / tick_s) for _ in range(scenario.returns)]
        self._door_level = scenario.accept_per_s or 0.0
        per_shard = rules.scope is BudgetScope.SHARD
        self._budget_cap = np.full(
            count if per_shard else 1, float(rules.budget * (1.0 if per_shard else rules.clients))
        )
        self._budget = self._budget_cap.copy()
        self._load = np.zeros(len(self._cells.key))
        self._turns: list[tuple[int, Floats]] = []

    def run(self) -> Outcome:
        scenario, tick_s = self._scenario, self._tick_s
        heat_every = max(1, round(scenario.assumed.heat_window_s / tick_s))
        for tick in range(1, round(scenario.duration_s / tick_s) + 1):
            now_s = (tick - 1) * tick_s
            if self._keys.changed(now_s - tick_s, now_s):
                self._cells = Cells(self._keys, self._maps, now_s)
                self._place()
            self._one_tick(now_s)
            if tick % heat_every == 0:
                self._close_heat_window(now_s + tick_s)
        self._out.gave_up = float(self._out.arrivals.sum() - self._out.accepted.sum())
        full = scenario.limits.partition_write_units * scenario.duration_s
        self._out.heat = self._spaces[0].served / full
        if len(self._spaces) > 1:
            self._out.index_heat = self._spaces[1].served / full
        return self._out

    def _place(self) -> None:
        for space in self._spaces:
            space.place(self._cells)
        self._load = np.zeros(len(self._cells.key))

    def _close_heat_window(self, now_s: float) -> None:
        cut = [space.split_for_heat(self._cells, self._load[: len(self._cells.key)], now_s) for space in self._spaces]
        if any(cut):
            self._place()
        self._load = np.zeros(len(self._cells.key))

    def _one_tick(self, now_s: float) -> None:
        second = int(now_s + 1e-9)
        new = self._rng.poisson(self._keys.weights * (self._rate(now_s) * self._tick_s)).astype(np.float64)
        self._out.arrivals[second] += new.sum()
        back: list[tuple[int, Floats]] = [(0, new)]
        back += [(i + 1, f.copy()) for i, line in enumerate(self._away) if (f := line.advance()) is not None]
        admitted = self._through_the_door(back, second)
        tries: list[tuple[int, Floats]] = [(0, admitted)]
        tries += [(i + 1, f.copy()) for i, line in enumerate(self._waits) if (f := line.advance()) is not None]
        share = self._serve(tries, now_s)
        self._after_the_answers(tries, share, second)

    def _rate(self, now_s: float) -> float:
        return self._scenario.arrivals.rate_at(now_s + self._tick_s / 2)

    def _through_the_door(self, back: list[tuple[int, Floats]], second: int) -> Floats:
        """Admit what the budget allows; the rest comes back later, or not at all."""
        per_s = self._scenario.accept_per_s
        wanted = sum(float(mass.sum()) for _, mass in back)
        share = 1.0
        if per_s is not None:
            at_hand = self._door_level + per_s * self._tick_s
            share = min(1.0, at_hand / wanted) if wanted else 1.0
            self._door_level = min(per_s, at_hand - share * wanted)
            self._out.refused_at_door[second] += wanted * (1 - share)
        self._turns = back
        if share < 1:
            for turn, mass in back:
                self._send_away(turn, mass * (1 - share))
        return total_of([mass * share for _, mass in back])

    def _send_away(self, turn: int, mass: Floats) -> None:
        if turn < len(self._away):
            self._away[turn].add(mass)

    def _serve(self, tries: list[tuple[int, Floats]], now_s: float) -> Floats:
        """Put all tries of the tick to table and index; the share of each key that was served."""
        cells = self._cells
        demand_by_key = total_of([mass for _, mass in tries])
        demand = demand_by_key[cells.key] * cells.part
        for space in self._spaces:
            space.refill(self._tick_s)
        passed = self._pass(demand)
        self._load += demand
        grown = [space.close_tick(float(passed.sum()), now_s + self._tick_s) for space in self._spaces]
        if any(grown):
            self._place()
        second = int(now_s + 1e-9)
        served, total = float(passed.sum()), float(demand.sum())
        self._out.attempts[second] += total
        self._out.accepted[second] += served
        self._out.throttled[second] += total - served
        by_key = passed if len(passed) == len(self._keys) else np.bincount(cells.key, passed, len(self._keys))
        return np.divide(by_key, demand_by_key, out=np.ones(len(by_key)), where=demand_by_key > 0)

    def _pass(self, demand: Floats) -> Floats:
        """What table and index both let pass.

        A request needs a token in both, so its chance is the product of two; each partition's chance
        depends on how many the other side lets through, which a few rounds settle.
        """
        if len(self._spaces) == 1:
            passed = demand * self._spaces[0].open_for(demand)
        else:
            table, index = self._spaces
            by_table = table.open_for(demand)
            by_index = index.open_for(demand * by_table)
            if by_table.min() < 1 or by_index.min() < 1:
                for _ in range(_ROUNDS):
                    by_table = table.open_for(demand * by_index)
                    by_index = index.open_for(demand * by_table)
            passed = demand * by_table * by_index
        for space in self._spaces:
            space.take(passed)
        return passed

    def _after_the_answers(self, tries: list[tuple[int, Floats]], share: Floats, second: int) -> None:
        refused_any = bool(np.any(share < 1))
        failed = np.zeros(len(self._keys))
        for number, mass in tries:
            passed = mass * share if refused_any else mass
            self._out.accepted_by_try[number] += float(passed.sum())
            self._refund(passed, number)
            if not refused_any:
                continue
            refused = mass - passed
            if number < len(self._waits):
                again = self._spend(refused)
                self._waits[number].add(again)
                refused = refused - again
            failed += refused
        if refused_any:
            self._out.failed[second] += failed.sum()
            self._fail(failed)

    def _fail(self, failed: Floats) -> None:
        """Failed requests come back as often as their turn allows; turns share failures evenly."""
        turns = self._turns
        total = total_of([mass for _, mass in turns])
        for turn, mass in turns:
            part = np.divide(mass, total, out=np.full(len(total), 1.0 if turn == 0 else 0.0), where=total > 0)
            self._send_away(turn, failed * part)

    def _refund(self, passed: Floats, number: int) -> None:
        rules = self._scenario.retries
        refund = rules.retry_cost if number else rules.success_refund
        gain = passed if self._budget_is_per_key() else passed.sum(keepdims=True)
        np.minimum(self._budget + gain * refund, self._budget_cap, out=self._budget)

    def _budget_is_per_key(self) -> bool:
        return self._scenario.retries.scope is BudgetScope.SHARD

    def _spend(self, refused: Floats) -> Floats:
        rules = self._scenario.retries
        if self._budget_is_per_key():
            again = np.minimum(refused, self._budget / rules.retry_cost)
            self._budget -= again * rules.retry_cost
            return again
        total = float(refused.sum())
        part = min(1.0, float(self._budget[0]) / rules.retry_cost / total) if total else 0.0
        self._budget[0] -= part * total * rules.retry_cost
        return refused * part
