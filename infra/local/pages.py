"""The console and the buyer's page, as files; a page asks nobody but this server for anything."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.resources import files

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_BUYER = re.compile(r"/e/[^/]+")
_ASSETS = "/assets/"


@dataclass(frozen=True, slots=True)
class Page:
    """One file with the headers that it is sent with."""

    body: bytes
    headers: dict[str, str]

    @property
    def etag(self) -> str:
        """The name of this very content."""
        return self.headers["ETag"]


class Pages:
    """All files of `infra/console`, read once."""

    def __init__(self) -> None:
        """Read them."""
        folder = files("infra.console")
        self._console = _page("console.html", folder.joinpath("console.html").read_bytes())
        self._buyer = _page("buyer.html", folder.joinpath("buyer.html").read_bytes())
        self._assets = {
            f"{_ASSETS}{file.name}": _page(file.name, file.read_bytes())
            for file in folder.joinpath("assets").iterdir()
            if _suffix(file.name) in _TYPES
        }

    def find(self, path: str) -> Page | None:
        """Return what stands at a path: `/console`, `/e/{event_id}`, or a file under `/assets/`."""
        if path in {"/console", "/console/"}:
            return self._console
        if _BUYER.fullmatch(path):
            return self._buyer
        return self._assets.get(path)


def _page(name: str, body: bytes) -> Page:
    return Page(
        body,
        {
            "Content-Type": _TYPES[_suffix(name)],
            "Content-Security-Policy": POLICY,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cache-Control": "no-cache",
            "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"',
        },
    )


def _suffix(name: str) -> str:
    return name[name.rfind(".") :]
