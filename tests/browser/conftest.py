"""One system and one browser for all tests of the pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from infra.local.minting import mint
from infra.local.outside import folder_settings
from shared.ports.store import Store
from shared.system import SystemClock, SystemIds
from shared.wiring import open_store
from tests.browser.chromium import chromium, find_chromium
from tests.e2e.house import Up, up

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

OpenPage = Callable[..., "Page"]


@pytest.fixture(scope="package")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """A running system with its demo sale."""
    find_chromium()
    with up(tmp_path_factory.mktemp("pages") / "shop", "--workers", "1") as system:
        yield system


@pytest.fixture(scope="package")
def browser(shop: Up) -> Iterator[Browser]:
    """A browser, whose driver gets no settings of ours."""
    with chromium() as started:
        yield started


@pytest.fixture
def store(shop: Up) -> Iterator[Store]:
    """The system's store, as another process opens it."""
    opened = open_store(folder_settings(shop.data), SystemClock(), SystemIds())
    yield opened
    opened.close()


@pytest.fixture
def visit(shop: Up, browser: Browser) -> Iterator[OpenPage]:
    """Return an opener of pages; at the end no page may have said anything wrong."""
    said: list[str] = []
    contexts = []

    def visit(path: str, who: str, *scopes: str, width: int = 1280, height: int = 900, scheme: str = "light") -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("console", lambda line: said.append(line.text) if line.type in {"error", "warning"} else None)
        page.on("request", lambda sent: None if sent.url.startswith(shop.url) else said.append(f"asked {sent.url}"))
        page.goto(f"{shop.url}{path}" + (f"#token={mint(shop.data, who, scopes)}" if scopes else ""))
        return page

    yield visit
    for context in contexts:
        context.close()
    assert said == []
