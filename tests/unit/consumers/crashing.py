"""Power cuts on demand: at the n-th call to the store or the payment service, before it or after it was carried out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from shared.domain.errors import AnswerLost, Contended, Throttled
from shared.ports.payment import PaymentGateway
from shared.ports.store import Store


class PowerCut(BaseException):
    """The process is gone; nothing may catch this."""


@dataclass
class Cutter:
    """Counts the calls of one process over all its sockets; `cut_at` is counted from 1, and 0 never comes.

    `trouble_every` lets every so manieth call fail, in turns as throttled, contended, or done with its answer lost.
    """

    cut_at: int = 0
    after: bool = False
    trouble_every: int = 0
    calls: int = 0
    log: list[str] = field(default_factory=list)

    def around(self, target: object) -> Any:  # noqa: ANN401 - a stand-in for any socket
        """Return a stand-in for `target`."""
        return _Guard(self, target)

    def store(self, store: Store) -> Store:
        """Return the store behind the cutter."""
        return cast("Store", self.around(store))

    def gateway(self, gateway: PaymentGateway) -> PaymentGateway:
        """Return the payment service behind the cutter."""
        return cast("PaymentGateway", self.around(gateway))

    def call(self, name: str, function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:  # noqa: ANN401
        """Carry out one call, or not, or carry it out and tell nobody."""
        self.calls += 1
        self.log.append(name)
        if self.calls == self.cut_at and not self.after:
            raise PowerCut
        trouble = self.calls // self.trouble_every if self.trouble_every and self.calls % self.trouble_every == 0 else 0
        if trouble and trouble % 3:
            raise Throttled if trouble % 3 == 1 else Contended
        result = function(*args, **options)
        if self.calls == self.cut_at:
            raise PowerCut
        if trouble:
            raise AnswerLost
        return result


class _Guard:
    def __init__(self, cutter: Cutter, target: object) -> None:
        self._cutter = cutter
        self._target = target

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the target's
        found = getattr(self._target, name)

        def call(*args: Any, **options: Any) -> Any:  # noqa: ANN401 - as the target's
            return self._cutter.call(name, found, args, options)

        return call
