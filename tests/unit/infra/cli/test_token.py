"""`onsale token`."""

from __future__ import annotations

from pathlib import Path

import jwt
import pytest
import typer
from typer.testing import CliRunner

from infra.cli.token import token
from infra.local.authorizer import Authorizer
from infra.local.tokens import local_key
from shared.settings import Settings
from shared.system import SystemClock


@pytest.fixture
def app() -> typer.Typer:
    """Return the command alone."""
    app = typer.Typer()
    app.command()(token)
    return app


def test_the_token_is_what_the_server_takes(app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard output is the token and nothing else."""
    monkeypatch.setenv("ONSALE_DATA_DIR", str(tmp_path))

    done = CliRunner().invoke(app, ["ann", "--scope", "buy", "--scope", "staff:read", "--ttl-s", "60"])

    assert done.exit_code == 0
    settings = Settings()
    authorizer = Authorizer(
        local_key(tmp_path).public_key(),
        issuer=settings.token_issuer,
        audience=settings.token_audience,
        clock=SystemClock(),
    )
    claims = authorizer.claims(f"Bearer {done.stdout.strip()}")
    assert (claims["sub"], claims["scope"]) == ("ann", "buy staff:read")
    assert int(claims["exp"]) - int(claims["iat"]) == 60


def test_without_a_scope_it_is_a_buyer_s(app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The least that is of use."""
    monkeypatch.setenv("ONSALE_DATA_DIR", str(tmp_path))

    done = CliRunner().invoke(app, ["ann"])

    assert jwt.decode(done.stdout.strip(), options={"verify_signature": False})["scope"] == "buy"


def test_a_scope_that_is_none_is_a_usage_error(
    app: typer.Typer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 2, no token, and the scopes there are."""
    monkeypatch.setenv("ONSALE_DATA_DIR", str(tmp_path))

    done = CliRunner().invoke(app, ["ann", "--scope", "admin"])

    assert (done.exit_code, done.stdout) == (2, "")
    assert "staff:write" in done.stderr
