"""No secret is ever in a log, an error or the repository; a buyer's client secret counts as one."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from infra.local.data_folder import DataFolder
from tests.integration.payments.shop import PAYMENT, Shop, wait_for

pytestmark = pytest.mark.timeout(180)
ROOT = Path(__file__).parents[3]
# Keys that open something somewhere, in the shapes that Stripe and AWS give them.
_KEYS = re.compile(
    r"\b(?:sk|rk)_live_[A-Za-z0-9]{8,}|\bsk_test_[A-Za-z0-9]{24,}|\bwhsec_[A-Za-z0-9+/]{24,}|\bAKIA[0-9A-Z]{16}\b"
)
_CLIENT_SECRET = re.compile(rb"pi_[A-Za-z0-9]+_secret_[A-Za-z0-9_-]+")


def test_a_runs_logs_hold_no_secret(shop: Shop) -> None:
    """Everything logged at DEBUG while orders are paid, declined, refunded, in trouble and signed wrongly."""
    event = shop.sell(hold_ttl_s=600)
    paid, handed = shop.order(event), shop.order(event, method=None)
    declined = shop.order(event, method="pm_card_visa_chargeDeclined")
    client_secret = shop.open_payment(event, handed)
    shop.until(event, paid, "confirmed")
    wait_for(lambda: shop.read(event, declined), lambda order: "decline_code" in order)
    intent_id = client_secret.partition("_secret_")[0]
    shop.webhook("payment_intent.succeeded", intent_id, shop.key(event, handed), livemode=True)
    shop.faults(error_before=1)
    shop.reconcile_in_trouble()
    shop.system.take_down(PAYMENT)
    shop.system.bring_back(PAYMENT)
    shop.pay(client_secret)
    tickets = shop.until(event, handed, "confirmed")["tickets"]
    shop.staff("POST", f"/{event}/orders/{paid}/refunds", {})
    wait_for(lambda: shop.stored(event, paid), lambda order: order.payment.refunded_minor > 0)

    def logs() -> bytes:
        return b"\n".join(path.read_bytes() for path in DataFolder(shop.data).logs.iterdir())

    said = wait_for(logs, lambda said: b"payment notice taken" in said)

    for name, secret in shop.secrets.items():
        assert secret.encode() not in said, f"{name} is in a log"
    assert client_secret.encode() not in said
    assert _CLIENT_SECRET.search(said) is None
    for code in tickets:
        assert code.encode() not in said


def test_secrets_are_kept_from_everybody_else_on_the_machine(shop: Shop) -> None:
    """The file that holds them is its owner's alone, and no command line shows one."""
    path = shop.data / "secrets.json"
    lines = [Path(f"/proc/{child.pid}/cmdline").read_bytes() for child in shop.system.children]

    assert path.stat().st_mode & 0o077 == 0
    for secret in shop.secrets.values():
        assert not any(secret.encode() in line for line in lines)


def test_errors_hold_no_secret(shop: Shop) -> None:
    """What the gateway raises when its key is refused, or the service is gone, says neither key nor client secret."""
    event = shop.sell()
    order_id = shop.order(event, method=None)
    client_secret = shop.open_payment(event, order_id)
    said = "\n".join(shop.provoke(client_secret.partition("_secret_")[0]))

    assert said
    assert client_secret not in said
    for secret in shop.secrets.values():
        assert secret not in said


def test_the_repository_holds_no_secret() -> None:
    """No tracked file has anything in the shape of a key that opens something."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False).stdout
    if not tracked:
        pytest.skip("this is no checkout")
    found = {
        name: match[0][:12]
        for name in tracked.decode().split("\0")
        if name and (ROOT / name).is_file()
        for match in [_KEYS.search((ROOT / name).read_text(encoding="utf-8", errors="ignore"))]
        if match
    }

    assert not found
