"""From one API Gateway event (payload format 2.0) to one answer, on any thread."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.utilities.typing import LambdaContext

from ingest.parts import Parts
from ingest.problems import code_of, problem_of, unexpected_problem
from ingest.request_body import with_plain_body
from ingest.resolver import Resolver
from shared.domain.errors import Refused
from shared.metrics import ORDERS, REQUEST_S, REQUESTS

Register = Callable[[Resolver, Parts], None]

CORRELATION_HEADER = "x-correlation-id"
# The operation whose outcomes make up the beginning of the funnel.
PLACE_ORDER = "place_order"
# What may stand in a log line and in a header without doing harm there, and short enough to travel with the order.
_CORRELATION_ID = re.compile(r"[A-Za-z0-9._:=-]{1,64}")


class Door:
    """The whole API as one function of an event. Requests share the parts; each has a resolver to itself meanwhile."""

    def __init__(self, parts: Parts, routes_for: Callable[[str], Register]) -> None:
        """Answer an address with the routes that `routes_for` it puts on a resolver."""
        self._parts = parts
        self._routes_for = routes_for
        self._idle: defaultdict[Register, deque[Resolver]] = defaultdict(deque)

    def __call__(self, event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Answer one event; never raises."""
        path = str(event.get("rawPath", ""))
        idle = self._idle[self._routes_for(path)]
        try:
            resolver = idle.pop()
        except IndexError:
            resolver = self.make_resolver(path)
        try:
            return self._answer(resolver, event, context)
        finally:
            idle.append(resolver)

    def prepare(self, path: str, count: int) -> None:
        """Have resolvers ready for so many requests at the same time: making one takes as long as ten answers."""
        idle = self._idle[self._routes_for(path)]
        while len(idle) < count:
            resolver = self.make_resolver(path)
            resolver.prepare()
            idle.append(resolver)

    def make_resolver(self, path: str = "") -> Resolver:
        """Make a resolver with the routes that may serve an address."""
        resolver = Resolver(self._parts)
        self._routes_for(path)(resolver, self._parts)
        return resolver

    def close(self) -> None:
        """Close the store; no further event can be answered."""
        self._parts.store.close()
        self._parts.insight.close()

    def _answer(self, resolver: Resolver, event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        correlation_id = correlation_of(event)
        began_s = self._parts.clock.monotonic_s()
        resolver.begin(correlation_id)
        try:
            answer = resolver.resolve(with_plain_body(event), context)
        except Refused as refusal:
            answer = _plain(problem_of(refusal, self._parts.ids))
            resolver.outcome = code_of(refusal)
        except Exception:
            # The last resort: a sentence instead of the gateway's bare 500.
            self._parts.logger.exception("request failed", extra={"correlation_id": correlation_id})
            answer = _plain(unexpected_problem())
            resolver.outcome = "unexpected"
        answer["headers"][CORRELATION_HEADER] = correlation_id
        answer["headers"]["X-Content-Type-Options"] = "nosniff"
        self._count(resolver, answer["statusCode"], began_s)
        return answer

    def _count(self, resolver: Resolver, status: int, began_s: float) -> None:
        insight, operation = self._parts.insight, resolver.operation
        meter = insight.watch.meter
        meter.count(REQUESTS, operation, str(status))
        meter.time(REQUEST_S, max(0.0, self._parts.clock.monotonic_s() - began_s), operation)
        if operation == PLACE_ORDER:
            meter.count(ORDERS, resolver.outcome)
        insight.send()


def correlation_of(event: Mapping[str, Any]) -> str:
    """Return the caller's correlation id where it is harmless, else the gateway's request id."""
    given = (event.get("headers") or {}).get(CORRELATION_HEADER, "")
    return given if _CORRELATION_ID.fullmatch(given) else str((event.get("requestContext") or {}).get("requestId", ""))


def _plain(response: Response[str]) -> dict[str, Any]:
    return {
        "statusCode": response.status_code,
        "body": response.body,
        "isBase64Encoded": False,
        "headers": dict(response.headers),
        "cookies": [],
    }
