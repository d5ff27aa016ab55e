"""HTTP for callers who may not stand still while they wait for an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from shared.domain.discreet import Discreet

if TYPE_CHECKING:
    from collections.abc import Mapping


class NeverSent(Exception):
    """No connection was made: what was asked for cannot have been done."""


class NoAnswer(Exception):
    """The request may have arrived, its answer did not."""


class HttpRequest(Discreet, frozen=True):
    """What is asked, and how long to wait for a connection and then for each part of the answer."""

    hidden: ClassVar = frozenset({"headers", "body"})

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes
    connect_timeout_s: float
    read_timeout_s: float


class HttpAnswer(Discreet, frozen=True):
    """What a server answered; the names of headers as it wrote them."""

    hidden: ClassVar = frozenset({"headers", "body"})

    status: int
    headers: Mapping[str, str]
    body: bytes


class Exchange(Protocol):
    """Sends requests without stopping the thread."""

    def __call__(self, request: HttpRequest) -> HttpAnswer | None:
        """Return the answer; NeverSent or NoAnswer without one.

        None, with nothing sent, when the present caller may stand still: it had better ask as it always does.
        """
        ...
