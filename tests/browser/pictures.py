"""Take the pictures of a running sale for the README: `python -m tests.browser.pictures`, with Chromium installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from infra.cli.api import Api
from infra.cli.where import BUYER_SCOPES, STAFF_SCOPES
from infra.local.minting import mint
from infra.local.sale_definition import one_pool_sale
from infra.local.system import Plan, System
from infra.usage import Usage

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER = Path(__file__).parents[2] / "infra" / "pictures"
EVENT = "night"
BUYERS, SEATS, SHARDS = 1_200, 900, 64
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")


def main() -> None:
    """Run a sale, look at it from three sides in the middle of the crowd."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        raise Usage("There is no Chromium here; install it, or name it in CHROMIUM.")
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only whoever develops has it

    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "shop"
        with System(Plan(data, workers=3), print) as system, sync_playwright() as playwright:
            assert system.running is not None
            url = system.running.url
            definition = one_pool_sale(EVENT, name="Night of the Long Queue", seats=SEATS, shards=SHARDS)
            Api(url, mint(data, "pictures", STAFF_SCOPES)).call("POST", "/v1/staff/sales", body=definition)
            crowd = _crowd(data)
            browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
            try:
                _take(browser, url, data)
            finally:
                browser.close()
                crowd.terminate()
                crowd.wait()


def _crowd(data: Path) -> subprocess.Popen[bytes]:
    words = ["--event", EVENT, "--buyers", str(BUYERS), "--within-s", "60", "--no-measure"]
    receipts = ["--receipts", str(data / "receipts.jsonl"), "--data", str(data)]
    return subprocess.Popen(
        [sys.executable, "-m", "infra.cli.main", "stampede", *words, *receipts],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _take(browser: Browser, url: str, data: Path) -> None:
    staff, buyer = mint(data, "boss", STAFF_SCOPES), mint(data, "ann", BUYER_SCOPES)
    console = f"{url}/console?event={EVENT}#token={staff}"
    desk = browser.new_page(viewport={"width": 1360, "height": 1150})
    desk.goto(console)
    desk.wait_for_function("() => /confirmed\\s*[1-9]/.test(document.querySelector('.funnel')?.innerText ?? '')")
    phone = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark", device_scale_factor=1.5)
    phone.goto(console)
    page = browser.new_page(viewport={"width": 390, "height": 620}, device_scale_factor=1.5)
    page.goto(f"{url}/e/{EVENT}#token={buyer}")
    page.click("#buy")
    phone.wait_for_selector(".funnel td")
    desk.screenshot(path=FOLDER / "console.png")
    phone.screenshot(path=FOLDER / "console-phone.png")
    page.wait_for_selector("#facts:not(:empty)")
    page.screenshot(path=FOLDER / "buyer.png")


if __name__ == "__main__":
    main()
