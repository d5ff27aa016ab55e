"""The error of whoever started a program in a way that cannot work here."""

from __future__ import annotations

from shared.domain.errors import OnsaleError


class Usage(OnsaleError):
    """The command line makes no sense as it stands; see --help."""

    code = "usage"
