"""`onsale token`: mint a bearer token for one machine."""

from __future__ import annotations

from typing import Annotated

import typer

SCOPES = "buy, staff:read, staff:write"


def token(
    subject: Annotated[str, typer.Argument(help="Who the token is for; a buyer's id.")] = "buyer",
    scope: Annotated[list[str] | None, typer.Option(help=f"A scope, repeatable: {SCOPES}. Default: buy.")] = None,
    ttl_s: Annotated[int, typer.Option(min=1, help="How long it is valid, in seconds.")] = 3600,
) -> None:
    """Print a token that the API on this machine takes (its key lies in ONSALE_DATA_DIR).

    Examples: onsale token alice · onsale token bob --scope staff:read --ttl-s 600
    """
    from pathlib import Path

    from infra.local.tokens import TokenMint, local_key
    from ingest.identity import BUY
    from ingest.identity import SCOPES as KNOWN
    from shared.settings import read_settings
    from shared.system import SystemClock

    scopes = scope or [BUY]
    unknown = sorted(set(scopes) - set(KNOWN))
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)}: there are {SCOPES}.", param_hint="--scope")
    settings = read_settings()
    mint = TokenMint(
        local_key(Path(settings.data_dir)),
        issuer=settings.token_issuer,
        audience=settings.token_audience,
        clock=SystemClock(),
    )
    typer.echo(mint.mint(subject, scopes, ttl_s))
