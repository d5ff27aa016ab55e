"""Receipts are evidence: what was written is what is read, and what cannot be read is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.load.receipts import Answer, Kind, Receipt, read_receipts, receipt_line
from infra.load.summary import most_within, percentile, summarise
from shared.domain.errors import Invalid

RECEIPT = Receipt(
    event_id="gig",
    buyer_id="ann",
    key="k",
    body_sha256="ab" * 32,
    order_ids=("1-" + "0" * 32,),
    last_status="confirmed",
    answers=(
        Answer(Kind.PLACE, 1_000, 503, 2.5, 1.0, "urn:onsale:problem:throttled"),
        Answer(Kind.PLACE, 2_000, 202, 4.25),
        Answer(Kind.REPEAT, 2_100, 202, 3.0),
        Answer(Kind.READ, 3_000, 200, 1.0),
    ),
)


def test_a_receipt_is_read_as_it_was_written(tmp_path: Path) -> None:
    """One line each, blank lines aside."""
    path = tmp_path / "receipts.jsonl"
    path.write_text(f"{receipt_line(RECEIPT)}\n\n{receipt_line(RECEIPT)}\n")

    assert list(read_receipts(path)) == [RECEIPT, RECEIPT]


@pytest.mark.parametrize("line", ["{", "[]", '{"event": "gig"}', "null"])
def test_a_line_that_is_no_receipt_is_named(tmp_path: Path, line: str) -> None:
    """The sentence says which line of which file is at fault."""
    path = tmp_path / "receipts.jsonl"
    path.write_text(f"{receipt_line(RECEIPT)}\n{line}\n")

    with pytest.raises(Invalid, match=r"receipts\.jsonl:2 is not a receipt"):
        list(read_receipts(path))


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    """A missing file is a sentence, not a traceback."""
    with pytest.raises(Invalid, match="cannot be read"):
        list(read_receipts(tmp_path / "none.jsonl"))


def test_the_summary_counts_what_buyers_saw(tmp_path: Path) -> None:
    """Accepted, refused and those without a final answer are told apart; latencies are those of the 202s."""
    path = tmp_path / "receipts.jsonl"
    refused = Receipt("gig", "bob", "k2", "cd" * 32, (), None, (Answer(Kind.PLACE, 1, 409, 1.0, None, "x:sold-out"),))
    tired = Receipt("gig", "cyd", "k3", "ef" * 32, (), None, (Answer(Kind.PLACE, 1, 503, 1.0),))
    path.write_text("".join(receipt_line(one) + "\n" for one in (RECEIPT, refused, tired)))

    summary = summarise(path)

    assert (summary.accepted, summary.refused, summary.gave_up) == (1, 1, 1)
    assert (summary.retried, summary.repeated, summary.bare_503, summary.server_errors) == (1, 1, 1, 0)
    assert summary.accept_ms_p50 == summary.accept_ms_p99 == 4.25
    assert summary.statuses["place 503"] == 2
    assert summary.problems == {"throttled": 1, "sold-out": 1}


def test_a_percentile_is_a_value_that_was_measured() -> None:
    """No interpolation: the figure was some buyer's."""
    assert percentile([5.0, 1.0, 3.0], 0.5) == 3.0
    assert percentile([5.0, 1.0, 3.0], 0.99) == 5.0
    assert percentile([], 0.5) == 0.0


@pytest.mark.parametrize(
    ("times_ms", "most"), [([], 0), ([5], 1), ([0, 999, 1000], 2), ([3000, 0, 400, 999, 2000], 3), ([7] * 4, 4)]
)
def test_the_busiest_second_may_begin_at_any_moment(times_ms: list[int], most: int) -> None:
    """Times come in any order; two that are exactly a second apart never share one."""
    assert most_within(times_ms, 1000) == most
