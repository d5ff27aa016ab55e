"""A token for every buyer: from a file, or minted here.

An RSA signature takes most of a millisecond, so each generator process signs its own buyers' tokens before the start,
all of them at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from infra.load.job import Job
from infra.local.minting import DAY_S, open_mint
from shared.domain.errors import Invalid

SCOPES = ("buy",)


def tokens_of(job: Job, buyer_ids: Sequence[str]) -> list[str]:
    """Return the tokens of a job's buyers; Invalid when there are too few of them."""
    if job.tokens_file is not None:
        return _from_file(Path(job.tokens_file), job.first, len(buyer_ids))
    mint = open_mint(Path(job.token_dir or "."))
    return [mint.mint(buyer_id, SCOPES, DAY_S) for buyer_id in buyer_ids]


def _from_file(path: Path, first: int, count: int) -> list[str]:
    try:
        with path.open(encoding="utf-8") as lines:
            tokens = [line.strip() for line in islice(lines, first, first + count)]
    except OSError as error:
        raise Invalid(f"The tokens {path} cannot be read: {error.strerror}.", field="tokens") from None
    if len(tokens) < count:
        raise Invalid(f"{path} holds fewer tokens than buyers: it takes one a line.", field="tokens")
    return tokens
