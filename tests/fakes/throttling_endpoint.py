"""An endpoint that speaks enough of DynamoDB to refuse by lot, and that tells the truth about it."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/"
REASONS = (
    ("TableWriteKeyRangeThroughputExceeded", ""),
    ("IndexWriteKeyRangeThroughputExceeded", "/index/work"),
    ("TableReadAccountLimitExceeded", ""),
)
ERROR = "com.amazonaws.dynamodb.v20120810#"


class Truth:
    """What was really answered."""

    def __init__(self, seed: int, share: float) -> None:
        self._random = random.Random(seed)
        self._share = share
        self._lock = threading.Lock()
        self.answers = 0
        self.throttled: Counter[str] = Counter()

    def answer(self, operation: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Answer one request."""
        with self._lock:
            self.answers += 1
            if self._random.random() < self._share:
                return self._refuse(operation, body)
        if operation == "Query":
            return 200, {"Items": [], "Count": 0}
        return 200, {"Responses": {}} if operation == "BatchGetItem" else {}

    def _refuse(self, operation: str, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if operation == "BatchGetItem":
            self.throttled["UnprocessedKeys"] += 1
            return 200, {"Responses": {}, "UnprocessedKeys": body["RequestItems"]}
        if operation == "TransactWriteItems":
            self.throttled["ThrottlingError"] += 1
            codes = ["None"] * len(body["TransactItems"])
            codes[self._random.randrange(len(codes))] = "ThrottlingError"
            reasons = [{"Code": code} for code in codes]
            return 400, {"__type": f"{ERROR}TransactionCanceledException", "CancellationReasons": reasons}
        reason, index = self._random.choice(REASONS)
        self.throttled[reason] += 1
        said = [{"reason": reason, "resource": f"{ARN}{body['TableName']}{index}"}]
        return 400, {"__type": f"{ERROR}ThrottlingException", "message": "no", "throttlingReasons": said}


@contextmanager
def throttling_endpoint(seed: int, share: float) -> Iterator[tuple[str, Truth]]:
    """Serve on a free port; refuse this share of all requests."""
    truth = Truth(seed, share)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = truth.answer(self.headers["X-Amz-Target"].rpartition(".")[2], body)
            said = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("x-amzn-RequestId", "made-up")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the parent calls it
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", truth
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
