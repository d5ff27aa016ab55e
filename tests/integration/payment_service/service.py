"""The payment service as tests meet it: a real process, the official library, a webhook endpoint that listens."""

from __future__ import annotations

import json
import queue
import threading
import urllib.request
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import stripe

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

API_KEY = "sk_test_local"
PUBLISHABLE_KEY = "pk_test_local"
SIGNING_SECRET = "whsec_local"
# Generous: the machine may be busy with other things.
WAIT_S = 30


@dataclass(frozen=True)
class Delivered:
    """One webhook as it came in."""

    payload: bytes
    signature: str

    @property
    def event(self) -> dict[str, Any]:
        """The event that it carries."""
        body: dict[str, Any] = json.loads(self.payload)
        return body


@dataclass
class Sink:
    """A webhook endpoint: keeps what comes in, and answers with `statuses` one after another, then with 200.

    With `meant_for` set, the statuses are for webhooks about that order alone.
    """

    delivered: queue.Queue[Delivered] = field(default_factory=queue.Queue)
    statuses: queue.Queue[int] = field(default_factory=queue.Queue)
    meant_for: str | None = None
    passed_over: list[Delivered] = field(default_factory=list)

    def __enter__(self) -> Self:
        """Listen on a free port."""
        sink = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                payload = self.rfile.read(int(self.headers["Content-Length"]))
                delivered = Delivered(payload, self.headers["Stripe-Signature"])
                sink.delivered.put(delivered)
                self.send_response(sink.status_for(delivered))
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def status_for(self, delivered: Delivered) -> int:
        """Return what one webhook is answered with."""
        metadata = delivered.event["data"]["object"].get("metadata") or {}
        if self.meant_for is not None and metadata.get("order") != self.meant_for:
            return 200
        try:
            return self.statuses.get_nowait()
        except queue.Empty:
            return 200

    def accept_all(self) -> None:
        """Answer with 200 from now on."""
        with self.statuses.mutex:
            self.statuses.queue.clear()

    def of(self, intent_id: str, count: int) -> list[Delivered]:
        """Wait for the next `count` webhooks about one intent; those about others are kept for who asks for them."""
        found: list[Delivered] = []
        earlier, self.passed_over = self.passed_over, []
        while len(found) < count:
            delivered = earlier.pop(0) if earlier else self.delivered.get(timeout=WAIT_S)
            about = delivered.event["data"]["object"]
            ours = intent_id in (about["id"], about.get("payment_intent"))
            (found if ours else self.passed_over).append(delivered)
        self.passed_over += earlier
        return found


def client(url: str, api_key: str = API_KEY) -> stripe.StripeClient:
    """Return the official client, pointed at the service, without repeats of its own."""
    return stripe.StripeClient(
        api_key,
        base_addresses={"api": url},
        max_network_retries=0,
        http_client=stripe.RequestsClient(timeout=WAIT_S),
    )


def control(url: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Ask a control route: GET, or POST with a body."""
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(f"{url}/_control/{path}", data=data, timeout=WAIT_S) as response:  # noqa: S310 - ours
        answer: dict[str, Any] = json.load(response)
    return answer
