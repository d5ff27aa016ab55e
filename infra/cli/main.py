"""`onsale`: data on stdout, talk on stderr, exit codes as in `exits`."""

from __future__ import annotations

import sys

import typer

from infra.cli.exits import EPILOG, INTERRUPTED, exit_code_of
from infra.cli.lazy import Entry, LazyGroup
from shared.domain.errors import OnsaleError

COMMANDS = {
    "up": Entry("infra.cli.up", "up", "Start the whole system on this machine."),
    "demo": Entry("infra.cli.demo", "demo", "Run a whole sale, from opening to verification, and report."),
    "work": Entry("infra.cli.work", "work", "Run a worker: seats, payments, tickets."),
    "sale": Entry("infra.cli.sale", "app", "Define, show, pause, resume, close and cancel sales."),
    "order": Entry("infra.cli.order", "app", "Place, show, trace, cancel and refund orders."),
    "queue": Entry("infra.cli.queue", "app", "Measure a sale's queue, and look at its heads."),
    "parked": Entry("infra.cli.parked", "app", "List, show and redrive parked orders (dead letters)."),
    "stampede": Entry("infra.cli.stampede", "stampede", "Send a crowd of buyers against any address."),
    "verify": Entry("infra.cli.verify", "verify", "Check every invariant of a sale from outside."),
    "reconcile": Entry("infra.cli.reconcile", "reconcile", "Compare orders and payments both ways; mend, list."),
    "bench": Entry("infra.cli.bench", "app", "Measure parts of the system against their promises."),
    "plan": Entry("infra.cli.plan", "plan_command", "Plan shards, throughput, slices and cost for a peak."),
    "throttle-proxy": Entry(
        "infra.cli.throttle_proxy", "throttle_proxy", "Put DynamoDB's limits before an endpoint that has none."
    ),
    "hot-keys": Entry("infra.cli.hot_keys", "hot_keys", "Show hot keys, skew and what to do about them."),
    "throttles": Entry("infra.cli.throttles", "throttles", "Show what the store refused, why, and what would help."),
    "export": Entry("infra.cli.backup", "export", "Write a sale into a folder, checksummed."),
    "restore": Entry("infra.cli.backup", "restore", "Write an exported sale into an empty store."),
    "token": Entry("infra.cli.token", "token", "Mint a bearer token of the local system."),
    "doctor": Entry("infra.cli.doctor", "doctor", "Check what the system needs, one line a thing."),
}


class Commands(LazyGroup):
    """All commands."""

    entries = COMMANDS


app = typer.Typer(
    cls=Commands,
    help="Take every order the second a sale opens; sell every seat once, charge every buyer once.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


@app.callback()
def _root() -> None:
    """Take every order the second a sale opens; sell every seat once, charge every buyer once."""


def main() -> None:
    """Run one command; errors of the system's own families become a sentence and an exit code."""
    try:
        app(prog_name="onsale")
    except OnsaleError as error:
        sys.stderr.write(f"{error.message}\n")
        sys.exit(exit_code_of(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
