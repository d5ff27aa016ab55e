"""The seed case before a wall of DynamoDB's size, shrunk so that a small machine reaches it."""

from __future__ import annotations

from infra.bench.seed_case import run


def test_one_key_is_throttled_and_our_layout_is_not() -> None:
    """Of the same crowd before the same wall, a counter under one key lets some in, the shards let all in."""
    figures = run(scale=0.05, joins=1_000, say=lambda _: None)

    before, after = figures["one_key"], figures["our_layout"]
    assert before["throttled_attempts"] > 0
    assert before["let_in"] + before["throttled_attempts"] == before["joins"] == 50
    assert (after["let_in"], after["throttled_attempts"]) == (50, 0)
