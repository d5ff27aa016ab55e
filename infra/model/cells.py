"""Keys and the parts of keys that splits have cut, as arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infra.model.key_space import KeySpace
from infra.model.scenario import Scenario

Ints = NDArray[np.int64]
Marks = NDArray[np.uint64]

SORT_BITS = 20
"""A position is the hash's upper 44 bits and, below them, 20 bits of place within the item collection."""


class Keys:
    """All partition keys of a scenario in one row, and the weight of each."""

    def __init__(self, scenario: Scenario) -> None:
        self.groups = scenario.groups
        self.weights = np.concatenate([np.array(group.weights) * group.share for group in scenario.groups])
        self._starts = np.cumsum([0] + [len(group.weights) for group in scenario.groups])
        self._timed = [i for i, group in enumerate(scenario.groups) if group.bucket_s is not None]

    def __len__(self) -> int:
        return len(self.weights)

    def changed(self, before_s: float, now_s: float) -> bool:
        """Whether some keys are named anew between two times."""
        spans = [self.groups[i].bucket_s for i in self._timed]
        return any(before_s // span != now_s // span for span in spans if span)

    def positions(self, space: KeySpace, at_s: float) -> Marks:
        """Where each key's item collection begins, by the model's own hash."""
        hashes = [
            space.hash_of(group.key(number, at_s)) >> SORT_BITS << SORT_BITS
            for group in self.groups
            for number in range(len(group.weights))
        ]
        return np.array(hashes, dtype=np.uint64)


class Cells:
    """Pieces of item collections: each belongs to a key and lies in one partition of table and index.

    A cell starts as a whole key. A cut inside a key makes two cells of it.
    """

    def __init__(self, keys: Keys, spaces: list[KeySpace], at_s: float) -> None:
        count = len(keys)
        self.key = np.arange(count)
        self.part = np.ones(count)
        self.start = [keys.positions(space, at_s) for space in spaces]
        self.width = [np.full(count, 1 << SORT_BITS, dtype=np.uint64) for _ in spaces]

    def cut(self, space: int, boundary: int) -> None:
        """Divide the cell that lies across a boundary, if there is one."""
        start, width = self.start[space], self.width[space]
        mark = np.uint64(boundary)
        across = np.flatnonzero((start < mark) & (mark - start < width))
        for cell in across:
            below = int(mark - start[cell])
            self._divide(int(cell), space, below)

    def _divide(self, cell: int, space: int, below: int) -> None:
        share = below / int(self.width[space][cell])
        self.key = np.append(self.key, self.key[cell])
        self.part = np.append(self.part, self.part[cell] * (1 - share))
        self.part[cell] *= share
        for i in range(len(self.start)):
            self.start[i] = np.append(self.start[i], self.start[i][cell])
            self.width[i] = np.append(self.width[i], self.width[i][cell])
        self.start[space][-1] += np.uint64(below)
        self.width[space][-1] -= np.uint64(below)
        self.width[space][cell] = np.uint64(below)

    def home(self, space: int, lowers: Marks) -> Ints:
        """The partition of each cell, by the sorted lower ends of the partitions."""
        return np.searchsorted(lowers, self.start[space], side="right").astype(np.int64) - 1
