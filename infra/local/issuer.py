"""An identity provider of this machine: publishes the token key by OpenID discovery, for a gateway that looks it up."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from jwt.algorithms import RSAAlgorithm

from infra.local.tokens import ALGORITHM, TokenMint
from shared.ports.system import Clock

KEY_ID = "onsale-local"
_DISCOVERY = "/.well-known/openid-configuration"
_KEYS = "/keys.json"


class Issuer:
    """Serves discovery on the loopback interface while the block lasts; `mint` signs in its name."""

    def __init__(self, key: RSAPrivateKey, *, audience: str, clock: Clock) -> None:
        """Publish the public half of `key`."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._documents))
        self._thread = threading.Thread(target=self._server.serve_forever, name="issuer", daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.mint = TokenMint(key, issuer=self.url, audience=audience, clock=clock, key_id=KEY_ID)
        public = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
        self._keys = {"keys": [{**public, "kid": KEY_ID, "use": "sig", "alg": ALGORITHM}]}

    def _documents(self, path: str) -> dict[str, Any] | None:
        found: dict[str, dict[str, Any]] = {
            _DISCOVERY: {"issuer": self.url, "jwks_uri": self.url + _KEYS},
            _KEYS: self._keys,
        }
        return found.get(path)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _handler(documents: Callable[[str], object]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # as the base class calls it
            document = documents(self.path)
            body = json.dumps(document).encode()
            self.send_response(200 if document is not None else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:  # say nothing
            return

    return Handler
