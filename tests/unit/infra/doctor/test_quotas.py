"""The account is compared with the plan, the index included; every lack says what to do."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from moto import mock_aws

from infra.aws.clients import open_client
from infra.doctor.quotas import Need, examine_account
from shared.stores.dynamo.tables import Tables, create_tables

NEED = Need.of_plan(
    {
        "provisioned_concurrency": 100,
        "api_rps_quota": 2_000,
        "warm_write_units_table": 8_000,
        "warm_write_units_index": 6_000,
    }
)
SMALL = Need(concurrency=0, api_per_s=100, table_writes=0, index_writes=0)


class NoConcurrency:
    """Lambda as it answers when nothing is kept warm; moto does not know the call."""

    class exceptions:  # noqa: N801 - as the client spells it
        """Errors as botocore makes them."""

        class ProvisionedConcurrencyConfigNotFoundException(Exception):
            """Nothing is kept warm."""

        class ResourceNotFoundException(Exception):
            """There is no such function."""

    kept: int | None = None

    def get_provisioned_concurrency_config(self, **_: str) -> dict[str, int]:
        if self.kept is None:
            raise self.exceptions.ProvisionedConcurrencyConfigNotFoundException
        return {"AvailableProvisionedConcurrentExecutions": self.kept}


def look(need: Need, *, tables: bool = True, kept: int | None = None, warm: int | None = None) -> dict[str, Any]:
    """Examine a mocked account; return what was found by thing."""
    concurrency = NoConcurrency()
    concurrency.kept = kept
    with mock_aws():
        open_aws = partial(open_client, region="us-east-1")
        dynamodb = open_aws("dynamodb")
        if tables:
            create_tables(dynamodb, Tables("onsale-prod"))

        class Warmed:
            """DynamoDB with warm throughput, which moto does not keep."""

            exceptions = dynamodb.exceptions

            def describe_table(self, **named: str) -> dict[str, Any]:
                told: dict[str, Any] = dynamodb.describe_table(**named)
                if warm is not None:
                    for part in (told["Table"], *told["Table"]["GlobalSecondaryIndexes"]):
                        part["WarmThroughput"] = {"WriteUnitsPerSecond": warm}
                return told

        parts: dict[str, Any] = {"lambda": concurrency, "dynamodb": Warmed()}
        findings = examine_account(lambda service: parts.get(service) or open_aws(service), "prod", need)
        return {one.thing: (one.good, one.sentence) for one in findings}


def test_a_small_sale_fits_a_new_account() -> None:
    """AWS's defaults are enough for it, and everything is looked at."""
    found = look(SMALL)

    assert all(good for good, _ in found.values())
    assert {"quota: Lambda concurrency", "quota: API requests/s", "provisioned concurrency"} < set(found)
    assert {"warm writes/s, orders", "warm writes/s, index work"} < set(found)


def test_what_the_night_lacks_is_named() -> None:
    """Cold tables, a cold index and a cold door are bad, with the parameter that mends each."""
    found = look(NEED, warm=4_000)

    bad = {thing: sentence for thing, (good, sentence) in found.items() if not good}
    assert set(bad) == {"provisioned concurrency", "warm writes/s, orders", "warm writes/s, index work"}
    assert "WorkIndexWarmWrites" in bad["warm writes/s, index work"]
    assert "4,000, the plan needs 6,000" in bad["warm writes/s, index work"]


def test_an_index_colder_than_its_table_is_bad() -> None:
    """The index is bought apart from the table."""
    found = look(Need(10, 100, 4_000, 9_000), kept=10, warm=8_000)

    assert [thing for thing, (good, _) in found.items() if not good] == ["warm writes/s, index work"]


def test_a_quota_below_the_plan_is_bad() -> None:
    """135,000 requests a second do not go through a new account."""
    found = look(Need(5_000, 135_000, 200_000, 200_000))

    assert not found["quota: API requests/s"][0]
    assert not found["quota: Lambda concurrency"][0]
    assert not found["quota: DynamoDB writes/s a table"][0]
    assert "Service Quotas" in found["quota: API requests/s"][1]


def test_a_stage_that_is_not_there_is_named() -> None:
    """Without tables there is nothing to compare."""
    good, sentence = look(SMALL, tables=False)["orders table"]

    assert not good
    assert "onsale-prod-orders" in sentence


def test_a_file_that_is_no_plan_is_refused() -> None:
    """A plan has all four figures."""
    with pytest.raises(KeyError):
        Need.of_plan({"shards": 4})
