"""N equal keys on P partitions: the published table of ceilings."""

from __future__ import annotations

import numpy as np
import pytest

from infra.model.capacity import OnDemand
from infra.model.ceiling import ceiling_draws
from infra.model.partition_model import PartitionModel

TABLE = [
    (10, 4, 2_500, 1_666),
    (10, 16, 5_000, 3_333),
    (32, 4, 2_909, 2_285),
    (32, 16, 6_400, 4_571),
    (32, 40, 10_666, 8_000),
    (128, 4, 3_368, 2_976),
    (128, 16, 9_846, 8_000),
    (128, 40, 18_285, 12_800),
    (200, 40, 20_000, 15_384),
    (1_000, 16, 13_157, 11_904),
    (1_000, 40, 27_777, 24_390),
]


@pytest.mark.parametrize(("keys", "partitions", "median", "bad"), TABLE)
def test_the_table_of_ceilings_is_reproduced(keys: int, partitions: int, median: int, bad: int) -> None:
    """Median and 1-in-20 draw lie within the sampling error of 3,000 draws."""
    draws = ceiling_draws(keys, partitions, 3_000, seed=keys * 100 + partitions)
    for quantile, published in ((0.5, median), (0.05, bad)):
        error = 3 * np.sqrt(quantile * (1 - quantile) / 3_000)
        low, high = np.quantile(draws, [quantile - error, quantile + error], method="nearest")
        assert np.floor(low) <= published <= np.floor(high)


@pytest.mark.parametrize(("keys", "partitions", "median"), [(32, 16, 6_400), (128, 40, 18_285)])
def test_the_models_own_hash_places_keys_alike(keys: int, partitions: int, median: int) -> None:
    """Real suffixes hashed by the model give the same median ceiling."""
    model = PartitionModel()
    model.create_table("t", OnDemand(warm_write_units=1_000 * partitions))
    space = model.space("t")
    ceilings = []
    for event in range(400):
        homes = [id(space.partition_at((space.hash_of(b"event%d#%d" % (event, i)), b""))) for i in range(keys)]
        ceilings.append(1_000 * keys / max(map(homes.count, set(homes))))
    low, high = np.quantile(ceilings, [0.42, 0.58], method="nearest")
    assert np.floor(low) <= median <= np.floor(high)
