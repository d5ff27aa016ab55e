"""`onsale bench`: parts of the system measured against their promises."""

from __future__ import annotations

import typer

from infra.cli.cost import bench_cost
from infra.cli.drain import bench_drain
from infra.cli.exits import EPILOG
from infra.cli.hot_keys import bench_hot_keys
from infra.cli.isolation import bench_isolation
from infra.cli.measure import bench_import, bench_ingest, bench_model, bench_seed_case

app = typer.Typer(
    help="Measure parts of the system against their promises.\n\n"
    "Examples: onsale bench hot-keys --json · onsale bench isolation --json",
    no_args_is_help=True,
    epilog=EPILOG,
    rich_markup_mode="rich",
    add_completion=False,
)
app.command("cost")(bench_cost)
app.command("drain")(bench_drain)
app.command("hot-keys")(bench_hot_keys)
app.command("isolation")(bench_isolation)
app.command("ingest")(bench_ingest)
app.command("import")(bench_import)
app.command("model")(bench_model)
app.command("seed-case")(bench_seed_case)
