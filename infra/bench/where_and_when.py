"""What a figure is worth nothing without: the machine and the date."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime


def where_and_when() -> dict[str, str]:
    """Return the date and a line about the machine."""
    machine = f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}"
    load = " ".join(f"{part:.1f}" for part in os.getloadavg())
    return {
        "date": datetime.now(tz=UTC).date().isoformat(),
        "machine": f"{machine}, Python {platform.python_version()}, load before {load}",
    }
