"""The local key, the tokens it signs, and the tokens that are refused."""

from __future__ import annotations

import base64
import json
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as make_ec_key
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from infra.local import authorizer as authorizer_module
from infra.local.authorizer import Authorizer
from infra.local.tokens import KEY_FILE, NoKey, TokenMint, local_key
from ingest.errors import NotAuthenticated
from shared.domain.errors import Unavailable
from tests.fakes.system import FakeClock

ISSUER, AUDIENCE = "https://issuer.test/", "onsale"
NOW_S = 1_800_000_000


@pytest.fixture(scope="module")
def key() -> RSAPrivateKey:
    """Return the key that counts."""
    return generate_private_key(65537, 2048)


@pytest.fixture
def clock() -> FakeClock:
    """Return a time at which tokens are minted."""
    return FakeClock(NOW_S * 1000)


@pytest.fixture
def mint(key: RSAPrivateKey, clock: FakeClock) -> TokenMint:
    """Return the mint of that key."""
    return TokenMint(key, issuer=ISSUER, audience=AUDIENCE, clock=clock)


@pytest.fixture
def authorizer(key: RSAPrivateKey, clock: FakeClock) -> Authorizer:
    """Return what verifies."""
    return Authorizer(key.public_key(), issuer=ISSUER, audience=AUDIENCE, clock=clock)


def _claims(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - a claim is anything
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ann", "scope": "buy", "exp": NOW_S + 60, **changes}
    return {name: value for name, value in claims.items() if value is not None}


def _refused(authorizer: Authorizer, authorization: str) -> bool:
    try:
        authorizer.claims(authorization)
    except NotAuthenticated:
        return True
    return False


def test_a_minted_token_is_taken(mint: TokenMint, authorizer: Authorizer) -> None:
    """Its claims come over as strings, as an HTTP API hands them to Lambda."""
    claims = authorizer.claims(f"Bearer {mint.mint('ann', ['buy', 'staff:read'], 60)}")

    assert (claims["sub"], claims["scope"]) == ("ann", "buy staff:read")
    assert claims["exp"] == str(NOW_S + 60)


def test_a_token_ends_with_its_time(mint: TokenMint, authorizer: Authorizer, clock: FakeClock) -> None:
    """Also when it was taken before and is remembered."""
    authorization = f"Bearer {mint.mint('ann', ['buy'], 60)}"
    assert not _refused(authorizer, authorization)
    clock.advance(59.9)
    assert not _refused(authorizer, authorization)
    clock.advance(0.1)

    assert _refused(authorizer, authorization)


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": NOW_S},
        {"exp": None},
        {"exp": "soon"},
        {"exp": True},
        {"nbf": NOW_S + 1},
        {"nbf": "later"},
        {"iss": "https://other.test/"},
        {"iss": None},
        {"aud": "other"},
        {"aud": None},
        {"sub": None},
        {"sub": 7},
    ],
)
def test_a_claim_that_does_not_fit_is_refused(
    changes: dict[str, Any], key: RSAPrivateKey, authorizer: Authorizer
) -> None:
    """Expired, early, from elsewhere, for somebody else, for nobody."""
    token = jwt.encode(_claims(), key, algorithm="RS256")
    assert not _refused(authorizer, f"Bearer {token}")

    header, _, _ = token.split(".")
    payload = base64.urlsafe_b64encode(json.dumps(_claims(**changes)).encode()).rstrip(b"=").decode()
    signed = jwt.PyJWS().encode(json.dumps(_claims(**changes)).encode(), key, algorithm="RS256")
    assert _refused(authorizer, f"Bearer {signed}")
    assert _refused(authorizer, f"Bearer {header}.{payload}.{token.split('.')[2]}")


def test_another_key_or_algorithm_is_refused(key: RSAPrivateKey, authorizer: Authorizer) -> None:
    """A stranger's signature, none at all, and the public key misused as a shared secret."""
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    stranger = generate_private_key(65537, 2048)
    unsigned = jwt.encode(_claims(), "", algorithm="none")
    body = jwt.encode(_claims(), key, algorithm="RS256").split(".")[1]
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').rstrip(b"=").decode()
    shared = jwt.get_algorithm_by_name("HS256").sign(f"{head}.{body}".encode(), public)
    forged = f"{head}.{body}.{base64.urlsafe_b64encode(shared).rstrip(b'=').decode()}"

    for token in (
        jwt.encode(_claims(), stranger, algorithm="RS256"),
        jwt.encode(_claims(), key, algorithm="RS512"),
        jwt.encode(_claims(), key, algorithm="PS256"),
        jwt.encode(_claims(), make_ec_key(SECP256R1()), algorithm="ES256"),
        unsigned,
        forged,
    ):
        assert _refused(authorizer, f"Bearer {token}")


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer ", "Bearer a.b.c", "Bearer é", "Basic YTpi", "Bearer " + "x" * 9_000, "Bearer a b", "a.b.c"],
)
def test_what_is_no_bearer_token_is_refused(authorization: str, authorizer: Authorizer) -> None:
    """Garbage is refused without a trace of what was wrong."""
    assert _refused(authorizer, authorization)


def test_the_scheme_is_case_insensitive(mint: TokenMint, authorizer: Authorizer) -> None:
    """RFC 9110, 11.1."""
    assert authorizer.claims(f"bearer {mint.mint('ann', ['buy'], 60)}")["sub"] == "ann"


def test_memory_of_tokens_is_bounded(mint: TokenMint, authorizer: Authorizer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest is forgotten and verified again when it comes back."""
    monkeypatch.setattr(authorizer_module, "MAX_REMEMBERED", 3)
    tokens = [mint.mint(f"buyer-{number}", ["buy"], 60) for number in range(5)]
    for token in [*tokens, tokens[0]]:
        authorizer.claims(f"Bearer {token}")

    assert len(authorizer._remembered) == 3


def test_a_key_is_made_once_for_its_owner(tmp_path: Path) -> None:
    """The file is readable by its owner only, and read again by the next process."""
    folder = tmp_path / "data"
    first = local_key(folder)

    assert stat.S_IMODE((folder / KEY_FILE).stat().st_mode) == 0o600
    assert local_key(folder).private_numbers() == first.private_numbers()
    assert [path.name for path in folder.iterdir()] == [KEY_FILE]


def test_processes_that_start_together_agree(tmp_path: Path) -> None:
    """Whoever is first makes the key; the others take it."""
    with ThreadPoolExecutor(4) as pool:
        keys = [found.private_numbers() for found in pool.map(lambda _: local_key(tmp_path), range(4))]

    assert keys == keys[:1] * 4


def test_a_key_that_others_can_read_is_not_used(tmp_path: Path) -> None:
    """The sentence says what to do."""
    local_key(tmp_path)
    (tmp_path / KEY_FILE).chmod(0o644)

    with pytest.raises(NoKey, match="chmod 600"):
        local_key(tmp_path)


@pytest.mark.parametrize("content", [b"", b"no key"])
def test_a_file_that_is_no_key_is_not_used(content: bytes, tmp_path: Path) -> None:
    """Nor is it overwritten."""
    path = tmp_path / KEY_FILE
    path.write_bytes(content)
    path.chmod(0o600)

    with pytest.raises(NoKey, match="remove it"):
        local_key(tmp_path)
    assert path.read_bytes() == content


def test_another_kind_of_key_is_not_used(tmp_path: Path) -> None:
    """An HTTP API's authorizer takes RSA keys."""
    path = tmp_path / KEY_FILE
    path.write_bytes(make_ec_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    path.chmod(0o600)

    with pytest.raises(NoKey, match="no RSA key"):
        local_key(tmp_path)


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    """The sentence names the variable."""
    (tmp_path / "file").touch()

    with pytest.raises(Unavailable, match="ONSALE_DATA_DIR"):
        local_key(tmp_path / "file" / "data")
