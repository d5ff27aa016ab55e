"""The document's own requests, bent in every way, against the running server: no input makes it answer 500."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.aws.sam import TOOLS
from tests.integration.servers import ROOT, RunningServer, running_server
from tests.integration.test_api import SALE

pytestmark = pytest.mark.timeout(180)
EXAMPLES = 12


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Return a server with one sale open."""
    with running_server(
        tmp_path_factory.mktemp("fuzzed"),
        # A door without them answers webhooks with 503, and nothing behind that would be met.
        ONSALE_WEBHOOK_SECRETS="whsec_fuzz",
        ONSALE_TAG_SECRET="tag",
        ONSALE_PAYMENT_MODE="test",
    ) as server:
        created = server.ask("POST", "/v1/staff/sales", SALE, token=server.token("boss", "staff:write"))
        assert created.status == 201
        yield server


@pytest.mark.parametrize("scopes", [("buy",), ("staff:read", "staff:write")])
def test_no_request_makes_it_answer_500(server: RunningServer, scopes: tuple[str, ...], tmp_path: Path) -> None:
    """I8: whatever schemathesis sends as a buyer or as staff, the server keeps its head; and it is alive afterwards."""
    token = server.token("fuzz", *scopes)
    done = subprocess.run(
        [
            TOOLS.python().with_name("schemathesis"),
            "run",
            ROOT / "infra" / "openapi.json",
            "--url",
            f"http://127.0.0.1:{server.port}",
            "--header",
            f"Authorization: Bearer {token}",
            "--checks",
            "not_a_server_error",
            "--phases",
            "examples,fuzzing",
            "--max-examples",
            str(EXAMPLES),
            "--seed",
            "7",
            "--request-timeout",
            "20",
            "--suppress-health-check",
            "all",
            "--no-color",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")},
    )

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert server.ask("GET", "/healthz").status == 200
