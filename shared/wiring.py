"""From settings to parts: the one place that knows which store a deployment has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.retry import Retrier, RetryPolicy
from shared.secrets import with_secrets
from shared.settings import Settings
from shared.stores.retrying import RetryingStore
from shared.system import THREADS

if TYPE_CHECKING:
    from shared.metering.watch import Watch
    from shared.ports.backup import BackupStore
    from shared.ports.buyer_orders import BuyerOrdersStore
    from shared.ports.exchange import Exchange
    from shared.ports.payment import NoticeReader, PaymentGateway
    from shared.ports.stats import StatsStore
    from shared.ports.store import Store
    from shared.ports.system import Clock, Ids, Waiting


def open_store(
    settings: Settings,
    clock: Clock,
    ids: Ids,
    *,
    policy: RetryPolicy | None = None,
    watch: Watch | None = None,
    waiting: Waiting = THREADS,
    exchange: Exchange | None = None,
) -> Store:
    """Open the deployment's store, which repeats what may be repeated; every attempt is told to `watch`.

    Callers wait for each other by `waiting`, and for a store on the network by `exchange` where it takes them.
    Unavailable or Broken with what to do when it cannot be opened.
    """
    # DynamoDB tells each request itself; the other stores' calls are one request each.
    observe = watch.attempted if watch is not None and settings.store != "dynamodb" else None
    finished = watch.finished if watch is not None else None
    retrier = Retrier(clock, ids, waiting.sleep, policy=policy, observe=observe, finished=finished)
    return RetryingStore(open_bare_store(settings, clock, watch=watch, waiting=waiting, exchange=exchange), retrier)


def open_bare_store(
    settings: Settings,
    clock: Clock,
    *,
    watch: Watch | None = None,
    waiting: Waiting = THREADS,
    exchange: Exchange | None = None,
) -> Store:
    """Open the deployment's store, every call of which is one attempt."""
    if settings.store == "dynamodb":
        # Importing boto3 takes longer than everything else together; one machine does without.
        from shared.stores.dynamo.store import open_store as open_dynamo  # noqa: PLC0415

        return open_dynamo(
            settings.table_prefix,
            region=settings.region,
            endpoint_url=settings.dynamodb_url,
            note=watch.ledger.note if watch is not None else None,
            clock=clock,
            exchange=exchange,
        )
    from shared.stores.sqlite import SqliteStore  # noqa: PLC0415

    table = f"{settings.table_prefix}-orders"
    return SqliteStore(settings.data_dir, clock, table=table, region=settings.region, waiting=waiting)


def open_gateway(settings: Settings, clock: Clock, *, watch: Watch | None = None) -> PaymentGateway:
    """Connect to the deployment's payment service; its calls are counted by `watch`.

    Invalid naming the variable that is missing.
    """
    # The door never pays: only workers load the payment library.
    from shared.payments.connect import connect_gateway  # noqa: PLC0415
    from shared.payments.metered import MeteredGateway  # noqa: PLC0415

    gateway = connect_gateway(with_secrets(settings), clock)
    return gateway if watch is None else MeteredGateway(gateway, clock, watch.meter)


def open_notices(settings: Settings) -> NoticeReader:
    """Return the reader of the payment service's webhooks; Invalid naming the variable that is missing."""
    from shared.payments.connect import connect_webhooks  # noqa: PLC0415 - as above

    return connect_webhooks(with_secrets(settings))


def open_stats(settings: Settings, clock: Clock, *, watch: Watch | None = None) -> StatsStore:
    """Open the deployment's statistics; Unavailable with what to do when that fails."""
    if settings.store == "dynamodb":
        from shared.stores.dynamo.stats import open_dynamo_stats  # noqa: PLC0415 - as above

        return open_dynamo_stats(
            settings.table_prefix,
            region=settings.region,
            endpoint_url=settings.dynamodb_url,
            clock=clock,
            note=watch.ledger.note if watch is not None else None,
        )
    from shared.stores.sqlite.stats import SqliteStats  # noqa: PLC0415

    return SqliteStats(settings.data_dir, clock)


def open_buyer_orders(settings: Settings) -> BuyerOrdersStore:
    """Open the copies that buyers list their orders from; Unavailable with what to do when that fails."""
    if settings.store == "dynamodb":
        from shared.stores.dynamo.buyer_orders import open_dynamo_buyer_orders  # noqa: PLC0415 - as above

        return open_dynamo_buyer_orders(
            settings.table_prefix, region=settings.region, endpoint_url=settings.dynamodb_url
        )
    from shared.stores.sqlite.buyer_orders import SqliteBuyerOrders  # noqa: PLC0415

    return SqliteBuyerOrders(settings.data_dir)


def open_backup(settings: Settings, clock: Clock) -> BackupStore:
    """Open the store's items as they are, for backups; Unavailable with what to do when that fails."""
    if settings.store == "dynamodb":
        from shared.stores.dynamo.backup import open_backup as open_dynamo_backup  # noqa: PLC0415 - as above

        return open_dynamo_backup(settings.table_prefix, region=settings.region, endpoint_url=settings.dynamodb_url)
    from shared.stores.sqlite.backup import SqliteBackup  # noqa: PLC0415

    return SqliteBackup.open(settings.data_dir, clock)
