"""Addresses of this very machine, where no proxy, no certificate and no password stands in between."""

from __future__ import annotations

from urllib.parse import urlsplit

_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


def is_here(url: str | None) -> bool:
    """Say whether an address leads to this machine; an absent one leads to AWS."""
    return url is not None and urlsplit(url).hostname in _HOSTS
