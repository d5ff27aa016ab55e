"""Exit codes: what a script that calls `onsale` can branch on."""

from __future__ import annotations

from infra.usage import Usage
from shared.domain.errors import Broken, NotFound, OnsaleError, Refused, Unavailable

OK = 0
UNEXPECTED = 1
USAGE = 2
NOT_FOUND = 3
REFUSED = 4
UNREACHABLE = 5
BROKEN = 6
INTERRUPTED = 130

# Nearest class first.
_CODES: tuple[tuple[type[OnsaleError], int], ...] = (
    (NotFound, NOT_FOUND),
    (Refused, REFUSED),
    (Unavailable, UNREACHABLE),
    (Broken, BROKEN),
)

EPILOG = (
    "Exit codes: 0 ok · 1 unexpected · 2 usage · 3 not found · 4 refused by a rule · 5 back end unreachable · "
    "6 an invariant is broken."
)


def exit_code_of(error: OnsaleError) -> int:
    """Return the exit code of an error's family."""
    if isinstance(error, Usage):
        return USAGE
    return next((code for family, code in _CODES if isinstance(error, family)), UNEXPECTED)
