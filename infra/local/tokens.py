"""Bearer tokens for one machine: an RSA key pair in the data folder, and tokens signed with it."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from shared.domain.errors import Broken, Unavailable
from shared.ports.system import Clock

ALGORITHM = "RS256"
KEY_FILE = "token-key.pem"
KEY_BITS = 2048


class NoKey(Broken):
    """The token key cannot be used; remove the file and tokens minted before are void."""


class TokenMint:
    """Signs tokens as an identity provider would."""

    def __init__(
        self, key: RSAPrivateKey, *, issuer: str, audience: str, clock: Clock, key_id: str | None = None
    ) -> None:
        """Sign with `key`, which its issuer publishes as `key_id`, in the name of `issuer`, for `audience`."""
        self._key = key
        self._issuer = issuer
        self._audience = audience
        self._clock = clock
        self._headers = {} if key_id is None else {"kid": key_id}

    def mint(self, subject: str, scopes: Iterable[str], ttl_s: int) -> str:
        """Return a token that is valid from now for `ttl_s` seconds."""
        now_s = self._clock.now_ms() // 1000
        claims = {
            "iss": self._issuer,
            "aud": self._audience,
            "sub": subject,
            "scope": " ".join(scopes),
            "iat": now_s,
            "nbf": now_s,
            "exp": now_s + ttl_s,
        }
        return jwt.encode(claims, self._key, algorithm=ALGORITHM, headers=self._headers)


def local_key(folder: Path) -> RSAPrivateKey:
    """Read the folder's key, made on first use with access for its owner only.

    Raises Unavailable when the folder cannot be written, NoKey when the file is no such key or others can read it.
    """
    path = folder / KEY_FILE
    try:
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            _make(path)
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise NoKey(f"{path} can be read by others; run `chmod 600 {path}` or remove it to have a new one made.")
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise Unavailable(
            f"The token key {path} cannot be used ({error.strerror}); name a writable folder in ONSALE_DATA_DIR."
        ) from error
    except ValueError as error:
        raise NoKey(f"{path} holds no private key; remove it and a new one is made.") from error
    if not isinstance(key, RSAPrivateKey):
        raise NoKey(f"{path} holds no RSA key; remove it and a new one is made.")
    return key


def _make(path: Path) -> None:
    """Write a new key whole or not at all; of several processes at once the first one's stands."""
    pem = generate_private_key(65537, KEY_BITS).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(descriptor)
        try:
            os.link(draft, path)
        except FileExistsError:
            return
    finally:
        draft.unlink()
