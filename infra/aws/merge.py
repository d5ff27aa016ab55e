"""Writes the alarms and dashboards that are made from the list of metrics into the template: `make dashboards` first.

`python -m infra.aws.merge`. The template stays one file that can be deployed as it stands; a test holds the two
together.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from infra.aws.sam import TEMPLATE

DASHBOARDS = Path(__file__).parents[1] / "dashboards"
BEGIN = "  # --- from infra/dashboards, by `python -m infra.aws.merge`: change shared/metrics.py instead"
END = "  # --- end of what is from infra/dashboards"


def merged(template: str) -> str:
    """Return the template with the part between the two marks made anew."""
    head, _, rest = template.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{generated()}\n{END}{tail}"


def generated() -> str:
    """Write alarms and dashboards as resources; JSON is YAML."""
    resources = json.loads((DASHBOARDS / "cloudwatch-alarms.json").read_text(encoding="utf-8"))["Resources"]
    for board in ("business", "machine"):
        body = json.dumps(json.loads((DASHBOARDS / f"cloudwatch-{board}.json").read_text(encoding="utf-8")))
        resources[f"{board.title()}Dashboard"] = {
            "Type": "AWS::CloudWatch::Dashboard",
            "Properties": {
                "DashboardName": {"Fn::Sub": f"onsale-${{Stage}}-{board}"},
                "DashboardBody": {"Fn::Sub": body},
            },
        }
    return "\n".join(f"  {name}: {json.dumps(resource, ensure_ascii=False)}" for name, resource in resources.items())


def main() -> int:
    """Rewrite the template."""
    TEMPLATE.write_text(merged(TEMPLATE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
