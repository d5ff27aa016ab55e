"""The command line of the service. Secrets may come from the environment, where no process list shows them."""

import argparse
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from infra.local.payment_service.delivery import Endpoint
from infra.local.payment_service.faults import KNOBS, Faults, check_knob
from infra.local.payment_service.idempotency import FORGET_AFTER_S
from infra.local.payment_service.service import Settings

ENV = "PAYMENT_SERVICE_"


@dataclass(frozen=True, slots=True)
class Options:
    """Where to listen, and how the service is set up."""

    host: str
    port: int
    settings: Settings
    end_with_stdin: bool = False


def read_options(arguments: list[str] | None = None) -> Options:
    """Options from the command line; ends the process with 2 and a sentence when they make no sense."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if not given.api_key:
        parser.error(f"give the secret API key that clients must send: --api-key or {ENV}API_KEY")
    signing = given.webhook_secret or [one for one in os.environ.get(f"{ENV}WEBHOOK_SECRET", "").split(",") if one]
    if given.webhook_url and not signing:
        parser.error(f"webhooks are signed: give --webhook-secret or {ENV}WEBHOOK_SECRET beside --webhook-url")
    faults = Faults(**{name: getattr(given, name) for name in KNOBS})
    endpoint = None
    if given.webhook_url:
        endpoint = Endpoint(given.webhook_url, tuple(signing), given.webhook_retry_first_s, given.webhook_retry_for_s)
    settings = Settings(
        data=given.data,
        api_key=given.api_key,
        publishable_key=given.publishable_key,
        seed=secrets.randbelow(2**32) if given.seed is None else given.seed,
        endpoint=endpoint,
        faults=faults,
        forget_idempotency_after_s=given.forget_idempotency_after,
        processing_delay_s=given.processing_delay_s,
    )
    return Options(given.host, given.port, settings, end_with_stdin=given.end_with_stdin)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m infra.local.payment_service",
        description="A Stripe-shaped payment service for one machine. Prints one JSON line when it listens.",
    )
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    add("--port", type=int, default=0, help="port to listen on; 0 takes a free one (%(default)s)")
    add("--data", type=Path, required=True, help="the SQLite file that holds the books; made if absent")
    add("--api-key", default=os.environ.get(f"{ENV}API_KEY"), help=f"the secret key of clients, or {ENV}API_KEY")
    add(
        "--publishable-key",
        default=os.environ.get(f"{ENV}PUBLISHABLE_KEY", "pk_test_local"),
        help="the key of buyers' browsers (%(default)s)",
    )
    add("--webhook-url", help="where events are sent; without it nobody is called")
    add(
        "--webhook-secret",
        action="append",
        help=f"secret that signs events; several sign at once; or {ENV}WEBHOOK_SECRET, by commas",
    )
    add("--webhook-retry-first-s", type=float, default=0.5, help="wait before the first repeat (%(default)s)")
    add("--webhook-retry-for-s", type=float, default=600.0, help="age at which an event is given up (%(default)s)")
    add("--processing-delay-s", type=float, default=2.0, help="how long pm_processing takes (%(default)s)")
    add(
        "--forget-idempotency-after",
        type=float,
        default=FORGET_AFTER_S,
        metavar="SECONDS",
        help="how long idempotency keys are kept (%(default)s)",
    )
    add("--seed", type=int, help="seed of everything the faults draw; printed when listening")
    add("--end-with-stdin", action="store_true", help="stop when standard input ends, so as not to outlive a starter")
    _add_knobs(parser)
    return parser


def _add_knobs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("faults", "seconds where the name ends in -s, else fractions from 0 to 1")
    for name, knob in KNOBS.items():
        group.add_argument(
            "--" + name.replace("_", "-"), type=_knob_reader(name), default=knob.default, help=knob.metadata["help"]
        )


def _knob_reader(name: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
            check_knob(name, value)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        return value

    return read
