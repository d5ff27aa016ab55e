"""What the sale's tests run against: a whole system behind one address, with people who have tokens.

On this machine: `onsale up` over each store, and the AWS stack in an emulator. With ONSALE_URL set it is that system
and no other: ONSALE_STAFF_TOKEN (scopes staff:read staff:write), ONSALE_BUYER_TOKENS (two or more with the scope buy,
of different subjects, comma separated), and, for paying by hand-off, ONSALE_PUBLISHABLE_KEY with ONSALE_PAYMENT_URL.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

from infra.local.data_folder import DataFolder
from infra.local.minting import open_mint
from infra.local.stack import Deployed, Stack
from tests.e2e.house import up

# Read at import: a run of tests begins by clearing our variables.
REMOTE = {name: value for name, value in os.environ.items() if name.startswith("ONSALE_")}
STRIPE = "https://api.stripe.com"
ANSWER_WITHIN_S = 30
# Consumers on AWS are woken by the stream at once, and by a schedule every minute.
WITHIN_S = 100
LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever JSON can hold
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Target:
    """One system: `token(name)` is a buyer's token, the same for the same name.

    `payment` is the payment service's address and publishable key, None when the caller knows none. `check` asks the
    system itself whether every promise holds, and is None where only the API can be asked.
    """

    url: str
    staff: str
    token: Callable[[str], str]
    payment: tuple[str, str] | None
    check: Callable[[str], None] | None

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send one request to the API."""
        sent = {**({} if token is None else {"Authorization": f"Bearer {token}"}), **(headers or {})}
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        return request(method, self.url + path, data, sent)

    def follow(self, location: str, token: str, *until: str, within_s: float = WITHIN_S) -> dict[str, Any]:
        """Read an order until it has one of the statuses; the last reading when it never does."""
        return self.wait(
            lambda: self.ask("GET", location, token=token).json,
            lambda order: order["status"] in until,
            within_s=within_s,
        )

    @staticmethod
    def wait(
        look: Callable[[], dict[str, Any]], good: Callable[[dict[str, Any]], bool], *, within_s: float = WITHIN_S
    ) -> dict[str, Any]:
        """Look until it is good or the time is up; return what was seen last."""
        deadline = time.monotonic() + within_s
        while not good(seen := look()) and time.monotonic() < deadline:
            time.sleep(LOOK_S)
        return seen

    def pay(self, client_secret: str, method: str = "pm_card_visa") -> int:
        """Pay as a buyer's browser does; return the payment service's status."""
        assert self.payment is not None
        url, key = self.payment
        intent_id = client_secret.partition("_secret_")[0]
        form = urlencode({"client_secret": client_secret, "payment_method": method}).encode()
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/x-www-form-urlencoded"}
        return request("POST", f"{url}/v1/payment_intents/{intent_id}/confirm", form, headers).status


def request(method: str, url: str, data: bytes | None, headers: Mapping[str, str]) -> Answer:
    """Send one request over a connection of its own."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    with contextlib.closing(kind(parts.netloc, timeout=ANSWER_WITHIN_S)) as line:
        line.request(method, parts.path + (f"?{parts.query}" if parts.query else ""), data, dict(headers))
        answer = line.getresponse()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())


def target_names() -> list[str]:
    """Name what to run against."""
    return ["url"] if "ONSALE_URL" in REMOTE else ["sqlite", "dynamodb", "stack"]


@contextlib.contextmanager
def open_target(name: str, folder: Path) -> Iterator[Target]:
    """Start what is named, and stop it afterwards."""
    if name == "url":
        yield _remote()
    elif name == "stack":
        with Stack() as deployed:
            yield _stack(deployed)
    else:
        with up(folder / "shop", "--workers", "1", "--store", name) as system:
            running = DataFolder(system.data).running()
            assert running is not None
            mint = open_mint(system.data)

            def check(event_id: str) -> None:
                done = system.onsale("verify", event_id, "--json")
                assert done.returncode == 0, done.stdout + done.stderr

            yield Target(
                system.url,
                mint.mint("boss", ["staff:read", "staff:write"], 3600),
                lambda buyer: mint.mint(buyer, ["buy"], 3600),
                (running.payment_url, running.publishable_key),
                check,
            )


def _stack(deployed: Deployed) -> Target:
    mint = deployed.issuer.mint

    def check(event_id: str) -> None:
        answer = deployed.invoke("verify", {})
        assert event_id in answer["checked"]

    return Target(
        deployed.url,
        mint.mint("boss", ["staff:read", "staff:write"], 3600),
        lambda buyer: mint.mint(buyer, ["buy"], 3600),
        (deployed.payment_url, deployed.publishable_key),
        check,
    )


def _remote() -> Target:
    tokens = [token.strip() for token in REMOTE["ONSALE_BUYER_TOKENS"].split(",") if token.strip()]
    given: dict[str, str] = {}

    def token(buyer: str) -> str:
        if buyer not in given:
            given[buyer] = tokens[len(given) % len(tokens)]
        return given[buyer]

    key = REMOTE.get("ONSALE_PUBLISHABLE_KEY")
    payment = (REMOTE.get("ONSALE_PAYMENT_URL", STRIPE).rstrip("/"), key) if key else None
    return Target(REMOTE["ONSALE_URL"].rstrip("/"), REMOTE["ONSALE_STAFF_TOKEN"], token, payment, None)
