"""Writes everything that is made from the list of metrics: `python -m infra.metrics_docs`.

Dashboards and alarms go to `infra/dashboards/`, the table into the README, where its markers stand.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from infra.metrics_docs.cloudwatch import alarms, dashboard
from infra.metrics_docs.grafana import grafana_dashboard
from infra.metrics_docs.table import NoMarkers, with_table
from shared.metrics import Board

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
FOLDER = ROOT / "infra" / "dashboards"


def fragments() -> dict[Path, str]:
    """Return the files that are made from the list alone, as they are committed."""
    values = {
        "cloudwatch-business.json": dashboard(Board.BUSINESS),
        "cloudwatch-machine.json": dashboard(Board.MACHINE),
        "cloudwatch-alarms.json": alarms(),
        "grafana.json": grafana_dashboard(),
    }
    return {FOLDER / name: json.dumps(value, indent=2, ensure_ascii=False) + "\n" for name, value in values.items()}


def main() -> int:
    """Write the files; returns the exit code: 2 with a sentence when the README has no place for the table."""
    FOLDER.mkdir(exist_ok=True)
    for path, text in fragments().items():
        path.write_text(text, encoding="utf-8")
    try:
        README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
    except NoMarkers as error:
        sys.stderr.write(f"README.md: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
