"""A request that buys a ticket, for a person to paste into a shell."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from infra.local.data_folder import DEFAULT


def onsale_program() -> str:
    """Return how this very program is called from a shell: by name where that finds it, else by its path."""
    called = Path(sys.argv[0])
    if called.name != "onsale":
        return f"{shlex.quote(sys.executable)} -m infra.cli.main"
    found = shutil.which("onsale")
    return "onsale" if found and Path(found).resolve() == called.resolve() else shlex.quote(str(called.resolve()))


def buying_curl(url: str, event_id: str, ticket_type_id: str, data: Path) -> str:
    """Return the command; its token is minted when it is pasted."""
    program = onsale_program()
    folder = "" if str(data) == DEFAULT else f"ONSALE_DATA_DIR={shlex.quote(str(data))} "
    body = f'{{"lines":[{{"ticket_type_id":"{ticket_type_id}","quantity":1}}],"payment_method":"pm_card_visa"}}'
    return " \\\n  ".join(
        [
            f"curl -i {url}/v1/events/{event_id}/orders",
            f'-H "Authorization: Bearer $({folder}{program} token alice)"',
            "-H 'Idempotency-Key: \"my-first-order\"'",
            "-H 'Content-Type: application/json'",
            f"-d '{body}'",
        ]
    )
