"""What can happen to a DynamoDB request on its way: answers no emulator gives, and answers that get lost."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from io import BytesIO
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ReadTimeoutError
from botocore.httpsession import URLLib3Session

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

Step = Callable[[AWSPreparedRequest], AWSResponse | None]


class _Raw(BytesIO):
    """The body as botocore reads it."""

    def stream(self, **_: object) -> list[bytes]:
        return [self.read()]


class Road:
    """Stands between a real client and its service: each step befalls one request, the rest pass."""

    def __init__(self, client: DynamoDBClient) -> None:
        """Stand in the way of `client`."""
        self._steps: deque[Step] = deque()
        self.requests: list[dict[str, Any]] = []
        # What a hook returns is taken for the answer; the stubs do not know that.
        client.meta.events.register("before-send.dynamodb.*", self._befall)  # type: ignore[arg-type]

    def answer(self, code: str, *, status: int = 400, **members: Any) -> None:  # noqa: ANN401 - as the API has it
        """Answer the next request with an error instead of the service."""
        body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "said by a test", **members}
        self._steps.append(lambda request: _response(request, status, body))

    def cancel(self, *codes: str, items: dict[int, dict[str, Any]] | None = None) -> None:
        """Cancel the next transaction with these reasons, `items` (on the wire) at their places."""
        reasons = [
            {"Code": code, **({"Item": items[at]} if items and at in items else {})} for at, code in enumerate(codes)
        ]
        self.answer("TransactionCanceledException", CancellationReasons=reasons)

    def babble(self, status: int, body: bytes) -> None:
        """Answer the next request with whatever something in between might say."""
        self._steps.append(lambda request: AWSResponse(request.url, status, HTTPHeaders(), _Raw(body)))

    def give(self, **body: Any) -> None:  # noqa: ANN401 - as the API has it
        """Answer the next request with success and this body."""
        self._steps.append(lambda request: _response(request, 200, body))

    def lose_answer(self) -> None:
        """Let the next request arrive and be carried out, and its answer get lost."""
        self._steps.append(_carry_out_and_time_out)

    def fail(self, error: Exception) -> None:
        """Let the next request break before it arrives."""

        def step(request: AWSPreparedRequest) -> AWSResponse:
            raise error

        self._steps.append(step)

    def pass_on(self) -> None:
        """Let the next request pass untouched."""
        self._steps.append(lambda request: None)

    def _befall(self, request: AWSPreparedRequest, **_: object) -> AWSResponse | None:
        body = request.body
        self.requests.append(json.loads(body) if isinstance(body, str | bytes) else {})
        return self._steps.popleft()(request) if self._steps else None


def _response(request: AWSPreparedRequest, status: int, body: dict[str, Any]) -> AWSResponse:
    headers = HTTPHeaders.from_dict({"x-amzn-requestid": "test"})
    return AWSResponse(request.url, status, headers, _Raw(json.dumps(body).encode()))


def _carry_out_and_time_out(request: AWSPreparedRequest) -> AWSResponse:
    session = URLLib3Session(proxies={})
    answer = session.send(request)
    session.close()
    if answer.status_code != 200:
        return answer
    raise ReadTimeoutError(endpoint_url=request.url)
