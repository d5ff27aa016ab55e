"""localstripe, a stranger's copy of Stripe, as a second peer of the gateway.

It is GPL and stays outside: an environment of its own (`.venv-localstripe`, made once from hashes, or the folder named
by ONSALE_LOCALSTRIPE_VENV), a process of its own, never imported. It knows no idempotency keys, no search and no
payment method in a confirmation.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import stripe

from shared.domain.order_id import OrderKey
from shared.payments.stripe_gateway import StripeGateway

ROOT = Path(__file__).parents[3]
LOCK = Path(__file__).with_name("localstripe.lock")
# Read at import: a run of tests begins by clearing our variables.
FOLDER = Path(os.environ.get("ONSALE_LOCALSTRIPE_VENV") or ROOT / ".venv-localstripe").resolve()
API_KEY = "sk_test_localstripe"

# As its own start does, but on the loopback interface only, without its pickle in /tmp, and ending with our end of the
# pipe, so that no server is left behind.
_BOOT = """
import os, socket, threading
from aiohttp import web
from localstripe import server
def watch():
    while os.read(0, 1):
        pass
    os._exit(0)
threading.Thread(target=watch, daemon=True).start()
server.store.dump_to_disk = lambda: None
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
print(listener.getsockname()[1], flush=True)
web.run_app(server.app, sock=listener, access_log=None, print=None)
"""


class LocalstripeGateway(StripeGateway):
    """The gateway, with the three requests spelled that localstripe knows only another way."""

    def _create(self, key: OrderKey, units: int, currency: str) -> stripe.PaymentIntent:
        return self._api.payment_intents.create(
            {"amount": units, "currency": currency.lower(), "metadata": self._tags.metadata(key)}
        )

    def _confirm(self, intent_id: str, name: str, method: str) -> stripe.PaymentIntent:
        self._api.payment_intents.update(intent_id, {"payment_method": method})
        return self._api.payment_intents.confirm(intent_id, {"expand": ["latest_charge"]})

    def _give_back(self, intent_id: str, key: OrderKey, units: int, name: str) -> None:
        told = self._api.payment_intents.retrieve(intent_id, {"expand": ["latest_charge"]})
        charge = told.latest_charge
        assert isinstance(charge, stripe.Charge)
        self._api.refunds.create({"charge": charge.id, "amount": units, "metadata": self._tags.metadata(key)})


@contextmanager
def localstripe() -> Iterator[str]:
    """Run localstripe and give its address."""
    with subprocess.Popen(
        [_python(), "-c", _BOOT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as child:
        try:
            assert child.stdout is not None
            port = child.stdout.readline().strip()
            assert port, "localstripe did not start"
            yield f"http://127.0.0.1:{port}"
        finally:
            child.terminate()


def card(url: str, number: str) -> str:
    """Make a payment method of a card number, and return its id."""
    api = stripe.StripeClient(API_KEY, base_addresses={"api": url}, max_network_retries=0)
    return api.v1.payment_methods.create(
        {"type": "card", "card": {"number": number, "exp_month": 12, "exp_year": 2040, "cvc": "123"}}
    ).id


def _python() -> Path:
    FOLDER.mkdir(parents=True, exist_ok=True)
    python, stamp = FOLDER / "bin" / "python", FOLDER / ".stamp"
    with (FOLDER / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test runs may want it at the same moment
        if not stamp.exists() or stamp.read_bytes() != LOCK.read_bytes():
            venv.EnvBuilder(with_pip=False, symlinks=True).create(FOLDER)
            pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
            subprocess.run([*pip, "--require-hashes", "--requirement", str(LOCK)], check=True, capture_output=True)
            stamp.write_bytes(LOCK.read_bytes())
    return python
