"""Which system a command speaks to: the one named by --url, or the one that runs over the data folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from infra.cli.api import Api
from infra.usage import Usage

Data = Annotated[
    Path, typer.Option("--data", envvar="ONSALE_DATA_DIR", help="Data folder of the local system.", show_default=True)
]
Url = Annotated[
    str | None,
    typer.Option("--url", envvar="ONSALE_URL", help="Address of the API; without it the running `onsale up`."),
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token", envvar="ONSALE_TOKEN", help="Bearer token; without it one is minted with the data folder's key."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Write JSON on stdout.")]

DEFAULT_DATA = Path(".onsale")
STAFF_SCOPES = ("staff:read", "staff:write")
BUYER_SCOPES = ("buy",)


def find_url(url: str | None, data: Path) -> str:
    """Return the address to speak to; Usage when none is named and nothing runs."""
    from infra.local.data_folder import DataFolder

    if url is not None:
        return url
    running = DataFolder(data).running()
    if running is None:
        raise Usage(f"No system has run over {data}: start one with `onsale up`, or name an address with --url.")
    return running.url


def find_api(url: str | None, data: Path, token: str | None, *, subject: str, scopes: tuple[str, ...]) -> Api:
    """Return a client with a token for `subject`."""
    from infra.local.minting import mint

    return Api(find_url(url, data), token or mint(data, subject, scopes))
