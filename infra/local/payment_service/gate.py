"""What every API request passes: faults, key, one request at a time per idempotency key, the work, the answer."""

import asyncio
import secrets
from dataclasses import dataclass, replace

from starlette.requests import Request
from starlette.responses import Response

from infra.local.payment_service.actions import Call, new_id
from infra.local.payment_service.books import Books
from infra.local.payment_service.commands import Command, Work
from infra.local.payment_service.dropping import Dropped
from infra.local.payment_service.errors import ApiError, invalid, server_error, unauthorized
from infra.local.payment_service.idempotency import KEY_MAX_CHARS, Answer, KeyedRequest, fingerprint, once
from infra.local.payment_service.params import Params, parse_pairs
from infra.local.payment_service.reads import Read
from infra.local.payment_service.service import Service

BODY_MAX_BYTES = 65_536
EXPANDABLE = frozenset({"latest_charge", "data.latest_charge"})


@dataclass(frozen=True, slots=True)
class Strike:
    """Which faults hit this request once it is carried out."""

    error_after: bool
    error_kept: bool
    drop_after: bool
    twice: bool
    forget_key: bool
    refused: bool


@dataclass(frozen=True, slots=True)
class Posted:
    """A POST as it came: its parameters, its key, and what the dice call it."""

    path: str
    object_id: str
    pairs: list[tuple[str, str]]
    key: str | None
    subject: str
    public: bool


class Gate:
    """Turns commands and reads into HTTP answers."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def post(self, request: Request, command: Command, *, public: bool) -> Response:
        """Carry out a command; `public` says whether a publishable key may ask for it."""
        try:
            subject = _subject(request)
            if await self._fails_before(subject):
                return Dropped()
            posted = await self._posted(request, subject, public=public)
            strike = self._strike(subject)
            with self._service.in_flight.hold(posted.key):
                answer = await self._carry_out(posted, command, strike)
                await asyncio.sleep(self._service.faults.answer_delay_s)
            return Dropped() if strike.drop_after else _response(answer, posted.key)
        except ApiError as error:
            return _response(Answer.of(error.body(), error.status), None)

    async def get(self, request: Request, read: Read, *, public: bool) -> Response:
        """Answer a read."""
        try:
            subject = _subject(request)
            if await self._fails_before(subject):
                return Dropped()
            pairs = parse_pairs(request.url.query)
            as_public = self._is_public(request, dict(pairs).get("key"), allowed=public)
            params = Params(pairs)
            call = self._service.call(subject, public=as_public, expand=params.expand(EXPANDABLE))
            return _response(read(self._service.reads, params, call, request.path_params.get("object_id", "")), None)
        except ApiError as error:
            return _response(Answer.of(error.body(), error.status), None)

    async def _fails_before(self, subject: str) -> bool:
        faults, dice = self._service.faults, self._service.dice
        extra_s = dice.draw("latency", subject) * faults.latency_random_s if faults.latency_random_s else 0.0
        await asyncio.sleep(faults.latency_s + extra_s)
        if dice.strikes(faults.error_before, "error_before", subject):
            raise server_error()
        if dice.strikes(faults.rate_limited, "rate_limited", subject):
            raise ApiError(429, "invalid_request_error", "Too many requests in a short time.", code="rate_limit")
        return dice.strikes(faults.drop_before, "drop_before", subject)

    def _strike(self, subject: str) -> Strike:
        faults, strikes = self._service.faults, self._service.dice.strikes
        return Strike(
            error_after=strikes(faults.error_after, "error_after", subject),
            error_kept=strikes(faults.error_kept, "error_kept", subject),
            drop_after=strikes(faults.drop_after, "drop_after", subject),
            twice=strikes(faults.answer_twice, "answer_twice", subject),
            forget_key=strikes(faults.forget_key, "forget_key", subject),
            refused=strikes(faults.decline, "decline", subject),
        )

    async def _posted(self, request: Request, subject: str, *, public: bool) -> Posted:
        body = bytearray()
        async for chunk in request.stream():
            body += chunk
            if len(body) > BODY_MAX_BYTES:
                raise invalid(f"The request body is larger than {BODY_MAX_BYTES} bytes.")
        pairs = parse_pairs(body.decode("utf-8", "replace"))
        key = request.headers.get("idempotency-key") or None
        if key is not None and len(key) > KEY_MAX_CHARS:
            raise invalid(f"Idempotency keys hold at most {KEY_MAX_CHARS} characters.")
        return Posted(
            path=request.url.path,
            object_id=request.path_params.get("object_id", ""),
            pairs=pairs,
            key=key,
            subject=subject,
            public=self._is_public(request, dict(pairs).get("key"), allowed=public),
        )

    async def _carry_out(self, posted: Posted, command: Command, strike: Strike) -> Answer:
        params = Params(posted.pairs)
        call = self._service.call(
            posted.subject,
            idempotency_key=posted.key,
            refused=strike.refused,
            public=posted.public,
            expand=params.expand(EXPANDABLE),
        )
        work = _struck(command(params, call, posted.object_id), strike)
        keyed = self._keyed(posted, call, strike)
        answer = await self._service.writer.run(lambda books: once(books, keyed, lambda: work(books)))
        if strike.twice:
            again = replace(keyed, forgotten=False) if keyed else None
            answer = await self._service.writer.run(lambda books: once(books, again, lambda: work(books)))
        return answer

    def _keyed(self, posted: Posted, call: Call, strike: Strike) -> KeyedRequest | None:
        if posted.key is None:
            return None
        return KeyedRequest(
            key=posted.key,
            path=posted.path,
            fingerprint=fingerprint(posted.pairs),
            now_ms=call.now_ms,
            forget_after_ms=round(self._service.settings.forget_idempotency_after_s * 1000),
            forgotten=strike.forget_key,
        )

    def _is_public(self, request: Request, key_parameter: str | None, *, allowed: bool) -> bool:
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        key = given if kind.lower() == "bearer" else key_parameter
        if not key:
            raise unauthorized("You did not provide an API key. Send it as 'Authorization: Bearer YOUR_KEY'.")
        if secrets.compare_digest(key.encode(), self._service.settings.api_key.encode()):
            return False
        if not secrets.compare_digest(key.encode(), self._service.settings.publishable_key.encode()):
            raise unauthorized("Invalid API key provided.")
        if not allowed:
            raise ApiError(
                403,
                "invalid_request_error",
                "This API call cannot be made with a publishable API key. Use a secret API key.",
                code="secret_key_required",
            )
        return True


def _struck(work: Work, strike: Strike) -> Work:
    failed = Answer.of(server_error().body(), 500)
    if strike.error_kept:
        return lambda _books: failed
    if strike.error_after:

        def done_and_denied(books: Books) -> Answer:
            work(books)
            return failed

        return done_and_denied
    return work


def _subject(request: Request) -> str:
    return f"{request.method} {request.url.path} {request.headers.get('idempotency-key', '')}"


def _response(answer: Answer, key: str | None) -> Response:
    headers = {"Request-Id": new_id("req")}
    if key is not None:
        headers["Idempotency-Key"] = key
    if answer.replayed:
        headers["Idempotent-Replayed"] = "true"
    return Response(answer.body, answer.status, headers, media_type="application/json")
