"""How many writes a second N equally loaded keys reach on P partitions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from infra.model.limits import Limits


def ceiling_draws(
    keys: int, partitions: int, draws: int, seed: int, limits: Limits | None = None
) -> NDArray[np.float64]:
    """Write units per second over `draws` random placements, sorted upwards.

    Keys fall into partitions like balls into bins, and the fullest bin sets the pace: with k of N keys
    in it, the whole reaches N / k times one partition's ceiling.
    """
    rng = np.random.default_rng(seed)
    homes = rng.integers(0, partitions, size=(draws, keys))
    offsets = np.arange(draws)[:, None] * partitions
    counts = np.bincount((homes + offsets).ravel(), minlength=draws * partitions)
    fullest = counts.reshape(draws, partitions).max(axis=1)
    ceiling = (limits or Limits()).partition_write_units
    return np.sort(ceiling * keys / fullest)
