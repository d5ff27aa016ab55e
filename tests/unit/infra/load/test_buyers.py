"""Buyers are drawn, not improvised: the same seed brings the same crowd."""

from __future__ import annotations

import json
from collections import Counter

from infra.load.buyers import BAD_CARD, GOOD_CARD, Mix, make_buyer
from infra.load.job import Job
from infra.load.stampede import processes_for, split

JOB = Job(
    url="http://127.0.0.1:1",
    event_id="gig",
    seed=7,
    first=0,
    count=10,
    spread_s=1,
    within_s=1,
    mix=Mix(),
    receipts="receipts.jsonl",
)


def test_a_buyer_depends_on_seed_and_number_alone() -> None:
    """However the crowd is spread over processes, buyer 41 of seed 7 is the same one."""
    assert make_buyer(7, 41, Mix(), spread_s=1) == make_buyer(7, 41, Mix(), spread_s=1)
    assert make_buyer(7, 41, Mix(), spread_s=1) != make_buyer(8, 41, Mix(), spread_s=1)


def test_every_buyer_has_a_key_and_a_name_of_their_own() -> None:
    """No two buyers of a crowd share a key or an id."""
    crowd = [make_buyer(7, number, Mix(), spread_s=1) for number in range(2_000)]

    assert len({buyer.key for buyer in crowd}) == len({buyer.buyer_id for buyer in crowd}) == 2_000


def test_the_mix_is_what_it_says() -> None:
    """Of many buyers about the named share is declined, vanishes, repeats; parties are of every size."""
    mix = Mix(party_max=3, declined=0.2, vanish=0.1, hand_off=0.1, repeat=0.5)
    crowd = [make_buyer(1, number, mix, spread_s=2) for number in range(4_000)]
    methods = Counter(buyer.method for buyer in crowd)

    assert abs(methods[BAD_CARD] / 4_000 - 0.2) < 0.03
    assert abs(methods[None] / 4_000 - 0.2) < 0.03
    assert abs(sum(buyer.pays_by_hand for buyer in crowd) / 4_000 - 0.1) < 0.03
    assert abs(sum(buyer.repeats for buyer in crowd) / 4_000 - 0.5) < 0.05
    assert {buyer.quantity for buyer in crowd} == {1, 2, 3}
    assert all(0 <= buyer.presses_after_s < 2 for buyer in crowd)


def test_a_calm_crowd_pays_and_stays() -> None:
    """Nobody is declined, pays later, vanishes or cancels."""
    crowd = [make_buyer(1, number, Mix.calm(1), spread_s=1) for number in range(500)]

    assert {buyer.method for buyer in crowd} == {GOOD_CARD}
    assert not any(buyer.cancels or buyer.pays_by_hand for buyer in crowd)
    assert {buyer.quantity for buyer in crowd} == {1}


def test_another_body_differs_by_a_ticket() -> None:
    """The second body under a used key is an order of its own kind."""
    buyer = make_buyer(1, 1, Mix(), spread_s=1)

    first, second = (json.loads(buyer.body("standing", extra=extra)) for extra in (0, 1))

    assert second["lines"][0]["quantity"] == first["lines"][0]["quantity"] + 1
    assert first["lines"][0]["ticket_type_id"] == "standing"


def test_a_job_is_shared_out_without_gap_or_overlap() -> None:
    """Each buyer belongs to exactly one process, each process writes a file of its own."""
    parts = split(JOB, 3)

    assert [(part.first, part.count) for part in parts] == [(0, 4), (4, 3), (7, 3)]
    assert len({part.receipts for part in parts}) == 3


def test_a_job_crosses_the_pipe_unchanged() -> None:
    """What the parent writes is what the generator reads."""
    assert Job.from_line(JOB.to_line()) == JOB


def test_large_crowds_come_from_more_processes() -> None:
    """A crowd is two processes at least, and more as it grows."""
    assert [processes_for(count) for count in (10, 1_000, 5_000, 10_000)] == [1, 2, 2, 4]
