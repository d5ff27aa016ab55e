"""What an AWS account allows, beside what a plan needs: before the night, not during it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from infra.doctor.checkup import Finding

# Quota codes of Service Quotas, with AWS's default where an account never asked for more.
CONCURRENCY = ("lambda", "L-B99A9384", 1_000)
API_RATE = ("apigateway", "L-8A5B8E43", 10_000)
TABLE_WRITES = ("dynamodb", "L-34F8CCC8", 40_000)
TABLE_READS = ("dynamodb", "L-34F6A552", 40_000)

Clients = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Need:
    """What the night asks of the account; from `onsale plan --json`."""

    concurrency: float
    api_per_s: float
    table_writes: float
    index_writes: float

    @classmethod
    def of_plan(cls, plan: Mapping[str, Any]) -> Need:
        """Read a plan."""
        return cls(
            float(plan["provisioned_concurrency"]),
            float(plan["api_rps_quota"]),
            float(plan["warm_write_units_table"]),
            float(plan["warm_write_units_index"]),
        )


def examine_account(clients: Clients, stage: str, need: Need) -> Iterator[Finding]:
    """Compare quotas, provisioned concurrency and warm throughput, the index included, with what is needed."""
    quotas = clients("service-quotas")
    for thing, quota, wanted in (
        ("Lambda concurrency", CONCURRENCY, need.concurrency),
        ("API requests/s", API_RATE, need.api_per_s),
        ("DynamoDB writes/s a table", TABLE_WRITES, max(need.table_writes, need.index_writes)),
        ("DynamoDB reads/s a table", TABLE_READS, 0.0),
    ):
        allowed = _quota(quotas, *quota)
        yield _compare(f"quota: {thing}", allowed, wanted, "ask AWS for more in Service Quotas, days before")
    yield _provisioned(clients("lambda"), stage, need)
    yield from _warm(clients("dynamodb"), stage, need)


def _quota(client: Any, service: str, code: str, default: float) -> float:  # noqa: ANN401 - a client made at run time
    try:
        return float(client.get_service_quota(ServiceCode=service, QuotaCode=code)["Quota"]["Value"])
    except client.exceptions.NoSuchResourceException:
        return default


def _provisioned(client: Any, stage: str, need: Need) -> Finding:  # noqa: ANN401 - as above
    try:
        told = client.get_provisioned_concurrency_config(FunctionName=f"onsale-{stage}-ingest", Qualifier="live")
        kept = float(told["AvailableProvisionedConcurrentExecutions"])
    except (
        client.exceptions.ProvisionedConcurrencyConfigNotFoundException,
        client.exceptions.ResourceNotFoundException,
    ):
        kept = 0.0
    return _compare("provisioned concurrency", kept, need.concurrency, "deploy with IngestProvisionedConcurrency")


def _warm(client: Any, stage: str, need: Need) -> Iterator[Finding]:  # noqa: ANN401 - as above
    try:
        table = client.describe_table(TableName=f"onsale-{stage}-orders")["Table"]
    except client.exceptions.ResourceNotFoundException:
        yield Finding(
            thing="orders table",
            good=False,
            sentence=f"There is no table onsale-{stage}-orders; deploy the stack, or name its --stage.",
        )
        return
    yield _compare("warm writes/s, orders", _writes(table), need.table_writes, "deploy with OrdersWarmWrites")
    for index in table.get("GlobalSecondaryIndexes", ()):
        name = index["IndexName"]
        yield _compare(
            f"warm writes/s, index {name}", _writes(index), need.index_writes, "deploy with WorkIndexWarmWrites"
        )


def _writes(part: Mapping[str, Any]) -> float:
    return float(part.get("WarmThroughput", {}).get("WriteUnitsPerSecond", 0))


def _compare(thing: str, has: float, wants: float, otherwise: str) -> Finding:
    good = has >= wants
    sentence = f"{has:,.0f}, the plan needs {wants:,.0f}"
    return Finding(thing, good, f"{sentence}." if good else f"{sentence}; {otherwise}.")
