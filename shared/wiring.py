"""From settings to parts: the one place that knows which store a deployment has."""

from __future__ import annotations

from shared.ports import Clock, StatsStore, Store
from shared.settings import Settings


def open_store(settings: Settings, clock: Clock) -> Store:
    """Open the deployment's store; Unavailable or Broken with what to do when that fails."""
    if settings.store == "dynamodb":
        # Importing boto3 takes longer than everything else together; one machine does without.
        from shared.stores.dynamo.store import open_store as open_dynamo  # noqa: PLC0415

        return open_dynamo(settings.table_prefix, region=settings.region, endpoint_url=settings.dynamodb_url)
    from shared.stores.sqlite import SqliteStore  # noqa: PLC0415

    return SqliteStore(settings.data_dir, clock, table=f"{settings.table_prefix}-orders", region=settings.region)


def open_stats(settings: Settings, clock: Clock) -> StatsStore:
    """Open the deployment's statistics; Unavailable with what to do when that fails."""
    if settings.store == "dynamodb":
        from shared.stores.dynamo.stats import open_dynamo_stats  # noqa: PLC0415 - as above

        return open_dynamo_stats(
            settings.table_prefix, region=settings.region, endpoint_url=settings.dynamodb_url, clock=clock
        )
    from shared.stores.sqlite.stats import SqliteStats  # noqa: PLC0415

    return SqliteStats(settings.data_dir, clock)
