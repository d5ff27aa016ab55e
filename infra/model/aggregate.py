"""The simulation as flows: expected numbers per key and tick, for any rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from infra.model.cells import Cells, Keys
from infra.model.delay_line import DelayLine
from infra.model.flow_budget import FlowBudget
from infra.model.flow_space import FlowSpace
from infra.model.key_space import KeySpace
from infra.model.reasons import Resource
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


@dataclass(slots=True)
class _Batch:
    """Requests of one tick, per key: how often their buyers came back, and their earlier tries this time."""

    turn: int
    tries: int
    mass: Floats


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
        turns = range(scenario.returns + 1)
        waits_ticks = [rules.longest_wait_s(i) / tick_s for i in range(rules.attempts - 1)]
        self._waits = {
            (turn, i + 1): DelayLine(count, 0, ticks) for turn in turns for i, ticks in enumerate(waits_ticks)
        }
        from_s, to_s = scenario.return_after_s
        self._away = {turn: DelayLine(count, from_s / tick_s, to_s / tick_s) for turn in turns[1:]}
        self._door_level = scenario.accept_per_s or 0.0
        self._budget = FlowBudget(rules, count)
        self._load = np.zeros(len(self._cells.key))

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
        back = [_Batch(0, 0, new)]
        back += [_Batch(turn, 0, f) for turn, line in self._away.items() if (f := line.advance()) is not None]
        batches = self._through_the_door(back, second)
        batches += [_Batch(*at, f) for at, line in self._waits.items() if (f := line.advance()) is not None]
        share = self._serve(batches, now_s)
        self._after_the_answers(batches, share, second)

    def _rate(self, now_s: float) -> float:
        return self._scenario.arrivals.rate_at(now_s + self._tick_s / 2)

    def _through_the_door(self, back: list[_Batch], second: int) -> list[_Batch]:
        """Admit what the budget allows; the rest comes back later, or not at all."""
        per_s = self._scenario.accept_per_s
        wanted = sum(float(batch.mass.sum()) for batch in back)
        if per_s is None or not wanted:
            return back
        at_hand = self._door_level + per_s * self._tick_s
        share = min(1.0, at_hand / wanted)
        self._door_level = min(per_s, at_hand - share * wanted)
        self._out.refused_at_door[second] += wanted * (1 - share)
        if share < 1:
            for batch in back:
                self._send_away(batch.turn, batch.mass * (1 - share))
        return [_Batch(batch.turn, 0, batch.mass * share) for batch in back]

    def _send_away(self, turn: int, mass: Floats) -> None:
        line = self._away.get(turn + 1)
        if line is not None:
            line.add(mass)

    def _serve(self, batches: list[_Batch], now_s: float) -> Floats:
        """Put all tries of the tick to table and index; the share of each key that was served."""
        cells = self._cells
        demand_by_key = total_of([batch.mass for batch in batches])
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

    def _after_the_answers(self, batches: list[_Batch], share: Floats, second: int) -> None:
        """Successes refund the budget; the refused wait for a retry, or fail and go away."""
        self._budget.refill(self._tick_s)
        if share.min() >= 1.0:
            for batch in batches:
                self._pass_batch(batch, batch.mass)
            return
        for batch in batches:
            passed = batch.mass * share
            self._pass_batch(batch, passed)
            batch.mass = batch.mass - passed
        again = [batch for batch in batches if (batch.turn, batch.tries + 1) in self._waits]
        paid = self._budget.spend(total_of([batch.mass for batch in again])) if again else 0.0
        for batch in again:
            retried = batch.mass * paid
            self._waits[batch.turn, batch.tries + 1].add(retried)
            batch.mass = batch.mass - retried
        for batch in batches:
            self._out.failed[second] += float(batch.mass.sum())
            self._send_away(batch.turn, batch.mass)

    def _pass_batch(self, batch: _Batch, passed: Floats) -> None:
        self._out.accepted_by_try[batch.tries] += float(passed.sum())
        self._budget.refund(passed, batch.tries)
