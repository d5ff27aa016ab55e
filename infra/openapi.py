"""Writes the OpenAPI document from the routes: `python -m infra.openapi`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from aws_lambda_powertools import Logger

from ingest.openapi import openapi_document
from ingest.parts import make_parts
from ingest.process import build_app
from shared.payments.charges import check_chargeable
from shared.stores.sqlite import SqliteStore
from shared.system import SystemClock, SystemIds

PATH = Path(__file__).with_name("openapi.json")


def document_text() -> str:
    """Return the document as it is committed: sorted, indented, with a newline at its end."""
    clock = SystemClock()
    store = SqliteStore(None, clock)
    try:
        parts = make_parts(
            store,
            clock,
            SystemIds(),
            processes=1,
            check_chargeable=check_chargeable,
            logger=Logger(service="onsale-openapi"),
        )
        document = openapi_document(build_app(parts).make_resolver())
    finally:
        store.close()
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the file."""
    PATH.write_text(document_text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
