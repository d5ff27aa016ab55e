"""A request that buys a ticket, for a person to paste into a shell."""

from __future__ import annotations

import shlex
from pathlib import Path

from infra.local.data_folder import DEFAULT


def buying_curl(url: str, event_id: str, ticket_type_id: str, data: Path) -> str:
    """Return the command; its token is minted when it is pasted."""
    folder = "" if str(data) == DEFAULT else f"ONSALE_DATA_DIR={shlex.quote(str(data))} "
    body = f'{{"lines":[{{"ticket_type_id":"{ticket_type_id}","quantity":1}}],"payment_method":"pm_card_visa"}}'
    return " \\\n  ".join(
        [
            f"curl -i {url}/v1/events/{event_id}/orders",
            f'-H "Authorization: Bearer $({folder}onsale token alice)"',
            "-H 'Idempotency-Key: \"my-first-order\"'",
            "-H 'Content-Type: application/json'",
            f"-d '{body}'",
        ]
    )
