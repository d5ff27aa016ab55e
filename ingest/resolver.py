"""The Powertools resolver, made safe for one instance per thread, with every error as a problem."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, get_type_hints

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.api_gateway import ResponseBuilder, Route
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestUnsupportedContentType, RequestValidationError
from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2
from aws_lambda_powertools.utilities.data_classes.common import BaseProxyEvent
from aws_lambda_powertools.utilities.typing import LambdaContext
from msgspec import Struct
from pydantic import BaseModel, ValidationError

from ingest.errors import MethodNotAllowed, UnsupportedBody
from ingest.identity import NOBODY, identify
from ingest.parts import Parts
from ingest.problems import code_of, problem_of, unexpected_problem, validation_problem
from ingest.request_body import read_json
from shared.domain.errors import Invalid, NotFound, OnsaleError, Refused, Unavailable

# What requests are counted under that no route took, and that only ask for the documentation.
NO_ROUTE, DOCS = "none", "docs"


class _Event(APIGatewayProxyEventV2):
    """An event as the gateway writes it, with the names of headers in lower case."""

    @property
    def resolved_headers_field(self) -> dict[str, Any]:
        """Return the headers as they are.

        Powertools copies them twice for every answer, to look for one; no route of ours takes a header as a list.
        """
        headers: dict[str, Any] = self["headers"]
        return headers


class _Needs(Struct, frozen=True):
    """What a route asks of a request: one of these scopes, and a body of this shape if we read it ourselves."""

    scopes: tuple[str, ...]
    body: type[BaseModel] | None


def _read_needs(route: Route) -> _Needs:
    scopes = tuple(scope for need in route.security or () for scopes in need.values() for scope in scopes)
    body = get_type_hints(route.func).get("body") if route.enable_validation is False else None
    return _Needs(scopes, body)


class Resolver(APIGatewayHttpResolver):
    """One thread's resolver. `event`, `correlation_id` and `identity` are the present request's.

    `operation` is the route that took it, `none` when no route did; `outcome` becomes the code of a refusal, or what a
    route calls its success.
    """

    event: Mapping[str, Any]
    correlation_id = ""
    identity = NOBODY
    operation = NO_ROUTE
    outcome = ""

    def __init__(self, parts: Parts) -> None:
        """Take no routes yet; register the handlers of errors."""
        super().__init__(enable_validation=True, debug=False, json_body_deserializer=read_json)
        self._ids = parts.ids
        self._log = parts.logger
        self.not_found(self._no_route)
        self.exception_handler(RequestValidationError)(self._invalid)
        self.exception_handler(RequestUnsupportedContentType)(self._unsupported)
        self.exception_handler(OnsaleError)(self._refused)
        self.exception_handler(Exception)(self._unexpected)

    def resolve(self, event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Answer one event.

        Powertools 3.37 keeps the event on the class `BaseRouter`, where the threads would read each other's; an
        attribute of the instance hides it.
        """
        self.event = event
        self.identity = NOBODY
        return super().resolve(event, context)

    def _to_proxy_event(self, event: dict[str, Any]) -> BaseProxyEvent:
        self.current_event = _Event(event, read_json)
        return self.current_event

    def prepare(self) -> None:
        """Compile every route's parameters now, which is otherwise left to its first request."""
        _ = self._needs
        for route in self._static_routes + self._dynamic_routes:
            if route.enable_validation is not False:
                _ = route.dependant

    def header(self, name: str) -> str | None:
        """Return a header of the present request; the gateway hands names over in lower case."""
        value: str | None = self.event["headers"].get(name.lower())
        return value

    def _call_route(self, route: Route, route_arguments: dict[str, Any]) -> ResponseBuilder[BaseProxyEvent]:
        """Let in whom the route's own description lets in, before the body is looked at.

        Powertools puts validation before every middleware of ours, and would tell strangers what is wrong with it.
        """
        self.operation = (route.operation_id if route.include_in_schema else None) or DOCS
        # Powertools makes a route of its own for each request that no route takes.
        needs = self._needs.get(id(route)) or _read_needs(route)
        if needs.scopes:
            self.identity = identify(self.event)
            self.identity.require(*needs.scopes)
        if needs.body is not None:
            try:
                route_arguments["body"] = self._read_body(needs.body)
            except (Refused, RequestValidationError) as error:
                refused: ResponseBuilder[BaseProxyEvent] | None = self._call_exception_handler(error, route)
                if refused is None:
                    raise
                return refused
        return super()._call_route(route, route_arguments)

    def _read_body(self, model: type[BaseModel]) -> BaseModel:
        """Do what the rush needs of Powertools' validation, in a fifth of its time: the body becomes its model.

        Addresses are text anyway, and answers are made of models.
        """
        body = self.current_event.json_body
        if body is None:
            raise RequestValidationError([{"type": "missing", "loc": ("body",), "msg": "Field required"}])
        try:
            return model.model_validate(body, from_attributes=True)
        except ValidationError as error:
            raise RequestValidationError(error.errors(include_url=False, include_input=False)) from None

    @cached_property
    def _needs(self) -> dict[int, _Needs]:
        """Return every route's needs, by the route's identity: equal routes are none the less two."""
        return {id(route): _read_needs(route) for route in self._static_routes + self._dynamic_routes}

    def _no_route(self, _: NotFoundError) -> Response[str]:
        # Powertools names a route after the address that nobody serves, whatever a stranger wrote there.
        self.operation = NO_ROUTE
        path = self.current_event.path
        routes = self._static_routes + self._dynamic_routes
        allowed = sorted({route.method for route in routes if route.rule.match(path)})
        return self._refused(MethodNotAllowed(allowed) if allowed else NotFound("There is nothing at this address."))

    def begin(self, correlation_id: str) -> None:
        """Forget the request before."""
        self.correlation_id = correlation_id
        self.operation, self.outcome, self.identity = NO_ROUTE, "", NOBODY

    def _invalid(self, error: RequestValidationError) -> Response[str]:
        self.outcome = Invalid.code
        return validation_problem(error)

    def _unsupported(self, _: RequestUnsupportedContentType) -> Response[str]:
        return self._refused(UnsupportedBody())

    def _refused(self, error: OnsaleError) -> Response[str]:
        if isinstance(error, Refused | Unavailable):
            self.outcome = code_of(error)
            return problem_of(error, self._ids)
        return self._unexpected(error)

    def _unexpected(self, error: Exception) -> Response[str]:
        self.outcome = "unexpected"
        self._log.error("request failed", exc_info=error, extra={"correlation_id": self.correlation_id})
        return unexpected_problem()
