"""A real Chromium, and the addresses, tokens and pages that the tests visit."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

# Generous: the machine may be busy with other things.
WITHIN_MS = 20_000
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MISSING = (
    "THE PAGES ARE NOT TESTED: there is no Chromium on this machine. Install it (Debian: apt-get install chromium), or "
    "name it in CHROMIUM."
)
AXE = Path(__file__).parent / "vendor" / "axe.min.js"


def find_chromium() -> str:
    """Return the browser's path; without one the test is skipped, in CI it fails."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a browser with a profile of its own."""
    program = find_chromium()
    from playwright.sync_api import expect, sync_playwright  # noqa: PLC0415 - of no use without the browser

    expect.set_options(timeout=WITHIN_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


def serious_findings(page: Page) -> list[str]:
    """Return what axe-core finds serious or critical on a page as it stands."""
    # Evaluated, not added as a script: the page's own policy forbids scripts from elsewhere, and shall.
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{one['id']}: {one['help']} at {one['nodes'][0]['html'][:120]}"
        for one in found["violations"]
        if one["impact"] in {"serious", "critical"}
    ]
