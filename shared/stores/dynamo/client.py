"""How this process speaks to DynamoDB: one attempt a call, bounded in time, counted where somebody counts.

The SDK's own retries are off: they hide throttles, share one budget over all keys, and repeat neither cancelled
transactions nor conflicts. Whoever wraps the store repeats, by reason.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from boto3.session import Session
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, ConnectionClosedError, EndpointConnectionError
from msgspec import Struct, field

from shared.domain.errors import Unavailable
from shared.domain.throttling.request import Ending, Request
from shared.loopback import is_here
from shared.ports.exchange import HttpRequest, NeverSent, NoAnswer
from shared.stores.dynamo.errors import answer_error, no_answer, transport_error
from shared.stores.dynamo.told import ending_of, failure_of, request_of
from shared.stores.limits import check_actions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from botocore.awsrequest import AWSPreparedRequest
    from botocore.compat import HTTPHeaders
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_dynamodbstreams import DynamoDBStreamsClient

    from shared.ports.exchange import Exchange
    from shared.stores.dynamo.expressions import Body

# A healthy answer takes a few milliseconds; a longer wait than these holds up a whole worker.
CONNECT_TIMEOUT_S = 1.0
READ_TIMEOUT_S = 3.0
# Threads of one process that call at the same time; more wait for a connection.
MAX_CONNECTIONS = 32


class Spent(Struct, frozen=True):
    """Capacity units that one call took from a table and from each of its indexes, as the service counted them."""

    operation: str
    table: str
    table_units: float
    index_units: Mapping[str, float] = field(default_factory=dict)


Observer = Callable[[Spent], None]
# Told every request with its end, one by one.
Noter = Callable[[Request, Ending], None]


def connect(region: str, endpoint_url: str | None = None, exchange: Exchange | None = None) -> DynamoDBClient:
    """Open a client; safe to share between threads. Where `exchange` takes a request, the SDK's own transport rests."""
    local = is_here(endpoint_url)
    client = _session(region, local=local).client("dynamodb", endpoint_url=endpoint_url, config=_config(local=local))
    if exchange is not None:
        # What a handler of this event returns is taken for the service's answer ("before-send", botocore).
        send = cast("Callable[..., None]", _Sender(exchange))
        client.meta.events.register("before-send.dynamodb", send)
    return client


def connect_streams(region: str, endpoint_url: str | None = None) -> DynamoDBStreamsClient:
    """Open a client for the streams."""
    local = is_here(endpoint_url)
    session = _session(region, local=local)
    return session.client("dynamodbstreams", endpoint_url=endpoint_url, config=_config(local=local))


def _session(region: str, *, local: bool) -> Session:
    if local:  # a server on this machine asks for keys but not which
        return Session(aws_access_key_id="local", aws_secret_access_key="local", region_name=region)  # noqa: S106
    return Session(region_name=region)


def _config(*, local: bool) -> Config:
    return Config(
        retries={"mode": "standard", "total_max_attempts": 1},
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=READ_TIMEOUT_S,
        max_pool_connections=MAX_CONNECTIONS,
        tcp_keepalive=True,
        # Every request is built in this room; checking each against the model costs a third of a call's time.
        parameter_validation=False,
        # The environment's proxy is for the world outside.
        proxies={} if local else None,
    )


class _Sender:
    """Has the SDK's signed requests sent by an exchange."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    def __call__(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse | None:  # noqa: ANN401 - as botocore calls
        headers = {name: _text(value) for name, value in request.headers.items()}
        body = cast("bytes", request.body)
        asked = HttpRequest(request.method, request.url, headers, body, CONNECT_TIMEOUT_S, READ_TIMEOUT_S)
        try:
            answer = self._exchange(asked)
        except NeverSent as error:
            raise EndpointConnectionError(endpoint_url=request.url, error=error) from error
        except NoAnswer as error:
            raise ConnectionClosedError(endpoint_url=request.url, request=request, error=error) from error
        if answer is None:
            return None
        return AWSResponse(request.url, answer.status, cast("HTTPHeaders", answer.headers), _Whole(answer.body))


class _Whole:
    """A body that has arrived already, as botocore reads bodies."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self) -> Iterator[bytes]:
        yield self._body


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("latin-1")


class Calls:
    """Every call of the store goes through here: translated errors, units told to the observer, ends to `note`."""

    def __init__(self, client: DynamoDBClient, observer: Observer | None = None, note: Noter | None = None) -> None:
        self._client = client
        self._observer = observer
        self._note = note
        self._closed = False

    def read(self, operation: str, body: Body) -> dict[str, Any]:
        """Call a reading operation, such as `get_item`."""
        return self._call(operation, body, writes=False)

    def write(self, operation: str, body: Body) -> dict[str, Any]:
        """Call a writing operation; ConditionFailed when its condition does not hold."""
        return self._call(operation, body, writes=True)

    def transact(self, actions: Sequence[Body], *, name: Sequence[str] = ()) -> None:
        """Carry out all actions or none; Cancelled, with a verdict for each, when a condition does not hold.

        For ten minutes the service takes a repeated token for the same transaction, and answers that it is done;
        `name` is what the token is made of. Invalid when there are more actions than a transaction takes.
        """
        check_actions(len(actions))
        tables = [body["TableName"] for action in actions for body in action.values()]
        request: Body = {"TransactItems": list(actions)}
        if name:
            # Tokens are one space for all tables of an account and region: theirs are part of the name.
            request["ClientRequestToken"] = _token([tables[0], *name])
        self._call("transact_write_items", request, writes=True, tables=tables)

    def close(self) -> None:
        """Give the connections back."""
        self._closed = True
        self._client.close()

    def _call(self, operation: str, body: Body, *, writes: bool, tables: Sequence[str] = ()) -> dict[str, Any]:
        if self._closed:
            raise Unavailable("The store was closed; open it again.")
        if self._observer is not None:
            body = {**body, "ReturnConsumedCapacity": "INDEXES"}
        try:
            answer: dict[str, Any] = getattr(self._client, operation)(**body)
        except ClientError as error:
            translated = answer_error(error, writes=writes, tables=tables)
            self._failed(operation, body, translated, error.response)
            raise translated from error
        except BotoCoreError as error:
            lost = transport_error(error, writes=writes, endpoint=self._client.meta.endpoint_url)
            self._failed(operation, body, lost, {})
            raise lost from error
        except (UnicodeDecodeError, AttributeError):
            # So the SDK stumbles over what is no answer of DynamoDB at all.
            answer = {}
        if "RequestId" not in answer.get("ResponseMetadata", ()):
            # Every answer of the service has one. What else says 200, a portal or a proxy, has stored nothing.
            strange = no_answer(writes=writes)
            self._failed(operation, body, strange, {})
            raise strange
        if self._observer is not None:
            self._tell(operation, answer.get("ConsumedCapacity", ()))
        if self._note is not None:
            self._note(request_of(operation, body), ending_of(answer))
        return answer

    def _failed(self, operation: str, body: Body, error: Exception, answer: Mapping[str, Any]) -> None:
        if self._note is not None:
            request = request_of(operation, body)
            self._note(request, failure_of(request, operation, body, error, answer))

    def _tell(self, operation: str, consumed: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        for part in [consumed] if isinstance(consumed, Mapping) else consumed:
            indexes = {
                name: float(units.get("CapacityUnits", 0))
                for name, units in part.get("GlobalSecondaryIndexes", {}).items()
            }
            total = float(part.get("CapacityUnits", 0))
            if self._observer is not None:
                self._observer(Spent(operation, part["TableName"], total - sum(indexes.values()), indexes))


def _token(parts: Sequence[str]) -> str:
    """Hash a name to the length that a token may have (36 characters)."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
