"""Tokens of the local system, minted with the key in its data folder."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from infra.local.tokens import TokenMint, local_key
from shared.settings import read_settings
from shared.system import SystemClock

DAY_S = 86_400


def open_mint(data: Path) -> TokenMint:
    """Return the mint of a data folder; its key is made when there is none."""
    settings = read_settings()
    return TokenMint(
        local_key(data), issuer=settings.token_issuer, audience=settings.token_audience, clock=SystemClock()
    )


def mint(data: Path, subject: str, scopes: Iterable[str], ttl_s: int = DAY_S) -> str:
    """Mint one token."""
    return open_mint(data).mint(subject, scopes, ttl_s)
