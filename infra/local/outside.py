"""The store and the payment service of a data folder, as `verify`, `doctor` and the demo open them."""

from __future__ import annotations

import os
from pathlib import Path

from infra.local.data_folder import DataFolder
from shared.domain.errors import Invalid, NotFound, Unavailable
from shared.ports.payment import PaymentGateway
from shared.ports.store import Store
from shared.ports.system import Clock
from shared.settings import Settings, read_settings
from shared.stores.sqlite.store import FILE_NAME
from shared.system import SystemClock, SystemIds
from shared.wiring import open_gateway, open_store


def folder_settings(data: Path) -> Settings:
    """Return the settings of the system over a data folder; the environment has the last word."""
    return read_settings({**DataFolder(data).environment(), **os.environ, "ONSALE_DATA_DIR": str(data)})


def open_folder_store(data: Path, clock: Clock) -> Store:
    """Open the store of a folder; NotFound when nothing was ever stored there, for looking must not make it."""
    settings = folder_settings(data)
    if settings.store == "sqlite" and not (data / FILE_NAME).exists():
        raise NotFound(f"There is no store in {data}; name the data folder of a system that has run with --data.")
    return open_store(settings, clock, SystemIds())


def open_books(data: Path) -> PaymentGateway | None:
    """Return the payment service's books, or None when it does not answer or none is configured."""
    try:
        gateway = open_gateway(folder_settings(data), SystemClock())
        gateway.list_intents(cursor=None, limit=1)
    except (Invalid, Unavailable):
        return None
    return gateway
