"""A store that repeats what may be repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from shared.stores.wrapped import WrappedStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.ports.store import Store
    from shared.retry import Retrier

T = TypeVar("T")


class RetryingStore(WrappedStore):
    """Repeats a call of `inner` that ended as Unavailable, unchanged and under its own `op`.

    A write whose answer was lost is so recognised as done. What goes up at last is the last error.
    """

    def __init__(self, inner: Store, retrier: Retrier) -> None:
        """Stand before `inner`; stores of one process share a retrier, so that they share its budgets."""
        super().__init__(inner)
        self._retrier = retrier

    def _through(self, method: str, place: str, run: Callable[[], T]) -> T:
        return self._retrier.call(method, place, run)
