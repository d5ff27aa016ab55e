"""Parts that only one machine needs: the change log of whichever store the settings name."""

from __future__ import annotations

from shared.ports.changes import ChangeLog
from shared.settings import Settings
from shared.system import SystemClock


def open_change_log(settings: Settings) -> ChangeLog:
    """Open the stream of changes to orders."""
    if settings.store == "dynamodb":
        # Importing boto3 takes longer than everything else together; one machine does without.
        from shared.stores.dynamo.client import connect_streams  # noqa: PLC0415
        from shared.stores.dynamo.stream import DynamoChangeLog  # noqa: PLC0415
        from shared.stores.dynamo.tables import Tables  # noqa: PLC0415

        streams = connect_streams(settings.region, settings.dynamodb_url)
        return DynamoChangeLog(streams, Tables(settings.table_prefix).orders)
    from shared.stores.sqlite import SqliteStore  # noqa: PLC0415

    return SqliteStore(
        settings.data_dir, SystemClock(), table=f"{settings.table_prefix}-orders", region=settings.region
    )
