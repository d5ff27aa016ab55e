"""Every error of the system, in families by what the caller does next.

::

    OnsaleError
    ├── Refused               tell the buyer or the member of staff; asking again changes nothing
    │   ├── NotFound
    │   │   └── Moved         a tombstone stands here; look at the address it names
    │   ├── Conflicting       the state of the thing forbids it (HTTP 409)
    │   ├── Invalid           the request breaks a rule (HTTP 422)
    │   └── Declined          the payment service refused the card
    ├── Unavailable           try later; nothing is lost
    │   ├── Throttled         the back end asked for less
    │   ├── Contended         another writer was in the way
    │   └── AnswerLost        it may have been applied; repeat the same operation
    └── Broken                stop and look: data or program disagree with themselves

An exception's docstring is its default message: a sentence that says what to do next.
"""

from __future__ import annotations

from typing import ClassVar


class OnsaleError(Exception):
    """Something went wrong; the log beside this message says where."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str | None = None) -> None:
        """Take the class's own sentence unless a more exact one is given."""
        super().__init__(message or (type(self).__doc__ or "").strip().splitlines()[0])

    @property
    def message(self) -> str:
        """The sentence for whoever reads it."""
        return str(self.args[0])


class Refused(OnsaleError):
    """This is not possible; change the request before asking again."""

    code = "refused"


class NotFound(Refused):
    """There is no such thing here; check the identifier."""

    code = "not-found"


class Moved(NotFound):
    """Nothing may be stored here any more; look at the newer address that the order of this key lives at."""

    code = "moved"

    def __init__(self, order_id: str) -> None:
        """Carry the id of the order that closed this address."""
        super().__init__()
        self.order_id = order_id


class Conflicting(Refused):
    """The present state does not allow this; read it again before deciding."""

    code = "conflict"

    def __init__(self, message: str | None = None, *, code: str | None = None, **details: str | int) -> None:
        """Carry a stable `code` (the problem type's last part) and facts for the answer."""
        super().__init__(message)
        self.reason = code or self.code
        self.details = details


class Invalid(Refused):
    """The request breaks a rule; correct the named field and send it again."""

    code = "invalid"

    def __init__(self, message: str | None = None, *, field: str = "", code: str | None = None) -> None:
        """Name the `field` (dotted path, may be empty) and a stable `code`."""
        super().__init__(message)
        self.field = field
        self.reason = code or self.code


class Declined(Refused):
    """The card was declined; try another one while the seats are held."""

    code = "declined"


class Unavailable(OnsaleError):
    """The back end does not answer at the moment; try again shortly, nothing was lost."""

    code = "unavailable"

    def __init__(self, message: str | None = None, *, retry_after_s: float | None = None) -> None:
        """Carry the earliest useful next try, in seconds, where it is known."""
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Throttled(Unavailable):
    """The back end asks for fewer requests; wait and repeat the same request."""

    code = "throttled"

    def __init__(self, message: str | None = None, *, reason: str = "", resource: str = "") -> None:
        """Carry the reason and the resource (table or index) as the back end names them."""
        super().__init__(message)
        self.reason = reason
        self.resource = resource


class Contended(Unavailable):
    """Another writer was in the way; repeat the same request after a short random wait."""

    code = "contended"


class AnswerLost(Unavailable):
    """The answer did not arrive, the write may have been applied; repeat the very same operation."""

    code = "answer-lost"


class Broken(OnsaleError):
    """Stored data contradict themselves; stop and run `onsale verify`."""

    code = "broken"
