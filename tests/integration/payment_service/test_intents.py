"""The life of a payment intent, pure, against everything that can happen to it in any order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.local.payment_service import intents
from infra.local.payment_service.intents import Attempt, Move, WrongState
from infra.local.payment_service.methods import INSUFFICIENT, outcome_of
from infra.local.payment_service.records import Charge, ChargeStatus, Intent, Status

METHODS = ("pm_card_visa", "pm_decline", "pm_processing", "pm_processing_fail", "pm_card_authenticationRequired")
HAPPENINGS = st.one_of(
    st.tuples(st.just("confirm"), st.sampled_from(METHODS)),
    st.tuples(st.just("settle"), st.sampled_from(("succeeded", "failed"))),
    st.tuples(st.just("authenticate"), st.sampled_from(("succeeded", "failed"))),
    st.tuples(st.just("cancel"), st.just("")),
)


def _intent() -> Intent:
    return Intent(id="pi_1", created_at_ms=0, amount=1000, currency="eur", client_secret="secret")


def _attempt(method_id: str, number: int) -> Attempt:
    return Attempt(
        method_id, outcome_of(method_id), off_session=False, charge_id=f"ch_{number}", now_ms=number, settle_delay_ms=5
    )


def _happen(intent: Intent, charges: dict[str, Charge], happening: tuple[str, str], number: int) -> Move:
    kind, detail = happening
    if kind == "confirm":
        return intents.confirm(intent, _attempt(detail, number))
    if kind == "cancel":
        return intents.cancel(intent, reason=None, now_ms=number)
    if kind == "authenticate":
        return intents.authenticate(intent, _attempt("pm_card_visa", number), proven=detail == "succeeded")
    charge = charges.get(intent.latest_charge or "")
    if charge is None:
        raise WrongState
    return intents.settle(intent, charge, None if detail == "succeeded" else INSUFFICIENT)


@given(st.lists(HAPPENINGS, max_size=8))
def test_an_intent_is_captured_at_most_once_and_ends_for_good(happenings: list[tuple[str, str]]) -> None:
    """Whatever happens in whatever order, one charge succeeds at most, and success and cancellation are final."""
    intent, charges = _intent(), dict[str, Charge]()
    for number, happening in enumerate(happenings):
        try:
            move = _happen(intent, charges, happening, number)
        except WrongState:
            continue
        assert intent.status not in {Status.SUCCEEDED, Status.CANCELED}
        assert not (intent.status is Status.PROCESSING and happening[0] in {"cancel", "confirm"})
        intent = move.intent
        if move.charge:
            charges[move.charge.id] = move.charge
        succeeded = [charge for charge in charges.values() if charge.status is ChargeStatus.SUCCEEDED]
        assert len(succeeded) == (1 if intent.status is Status.SUCCEEDED else 0)
        assert intent.captured == sum(charge.amount for charge in succeeded)
        assert (intent.settle_at_ms is not None) == (intent.status is Status.PROCESSING)
        assert (move.decline is not None) == (move.event == "payment_intent.payment_failed")


def test_a_decline_leads_back_to_another_try() -> None:
    """After a decline the same intent takes another card."""
    declined = intents.confirm(_intent(), _attempt("pm_decline", 1)).intent

    assert declined.status is Status.REQUIRES_PAYMENT_METHOD
    assert intents.confirm(declined, _attempt("pm_card_visa", 2)).intent.status is Status.SUCCEEDED


def test_authentication_is_a_decline_when_the_buyer_is_away() -> None:
    """A card that wants its holder is declined off-session, and waits for the holder otherwise."""
    away = Attempt("pm", outcome_of("pm_card_authenticationRequired"), True, "ch_1", 0, 0)
    move = intents.confirm(_intent(), away)

    assert move.decline is not None
    assert move.decline.decline_code == "authentication_required"
    assert (
        intents.confirm(_intent(), _attempt("pm_card_authenticationRequired", 1)).intent.status
        is Status.REQUIRES_ACTION
    )


@pytest.mark.parametrize("method_id", ["pm_card_visa", "pm_ok", "pm_decline", "pm_processing"])
def test_a_cancelled_intent_takes_no_money(method_id: str) -> None:
    """No card can be charged on a cancelled intent."""
    closed = intents.cancel(_intent(), reason="abandoned", now_ms=1).intent

    with pytest.raises(WrongState):
        intents.confirm(closed, _attempt(method_id, 2))
