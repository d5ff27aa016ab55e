"""The service as a process: power cuts, restarts, start-up errors, a clean stop."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
import stripe

from infra.local.payment_service.launch import Launch, PaymentProcess
from tests.integration.payment_service.service import API_KEY, SIGNING_SECRET, Sink, client, control

COMMAND = [sys.executable, "-m", "infra.local.payment_service"]


def _pay(url: str, intent_id: str) -> stripe.PaymentIntent:
    return client(url).v1.payment_intents.confirm(
        intent_id, {"payment_method": "pm_card_visa"}, {"idempotency_key": "order-1/1"}
    )


def _stands(api: stripe.StripeClient, intent_id: str, status: str) -> bool:
    return api.v1.payment_intents.retrieve(intent_id).status == status


def _until(holds: Callable[[], bool]) -> None:
    for _ in range(10_000):
        if holds():
            return
    pytest.fail("It never came true.")


def test_killed_between_charge_and_answer_it_charges_once(tmp_path: Path) -> None:
    """P1: after a kill between commit and answer, the repeat under the same key meets the one charge."""
    books = tmp_path / "books.db"
    with PaymentProcess(Launch(books, API_KEY)) as cut, ThreadPoolExecutor() as pool:
        intent = client(cut.url).v1.payment_intents.create({"amount": 2000, "currency": "eur"})
        control(cut.url, "faults", {"answer_delay_s": 3600})
        unanswered = pool.submit(_pay, cut.url, intent.id)
        _until(lambda: control(cut.url, "books")["intents"].get("succeeded") == 1)
        cut.kill()
        with pytest.raises(stripe.APIConnectionError):
            unanswered.result(timeout=10)

    with PaymentProcess(Launch(books, API_KEY, port=cut.port)) as again:
        assert _pay(again.url, intent.id).status == "succeeded"
        assert control(again.url, "books")["money"] == {"eur": {"captured_minor": 2000, "refunded_minor": 0}}
        assert control(again.url, "books")["charges"] == {"succeeded": 1}


def test_killed_under_load_the_books_hold_every_answer(tmp_path: Path) -> None:
    """What was answered before a kill is there after it, and totals agree with the list."""
    books, answered = tmp_path / "books.db", list[str]()

    def create(cut: PaymentProcess, number: int) -> None:
        try:
            intent = client(cut.url).v1.payment_intents.create(
                {
                    "amount": 1000,
                    "currency": "eur",
                    "payment_method": "pm_ok",
                    "confirm": True,
                    "metadata": {"onsale_order": str(number)},
                },
                {"idempotency_key": str(number)},
            )
        except stripe.APIConnectionError:
            return
        answered.append(intent.id)
        if len(answered) >= 40:
            cut.kill()

    with PaymentProcess(Launch(books, API_KEY)) as cut, ThreadPoolExecutor(8) as pool:
        list(pool.map(partial(create, cut), range(60)))

    with PaymentProcess(Launch(books, API_KEY)) as again:
        rows = control(again.url, "books/orders?limit=1000")["orders"]
        totals = control(again.url, "books")
    assert {row["payment_intent"] for row in rows} >= set(answered)
    assert 40 <= len(answered) < 60
    assert all((row["captures"], row["captured_minor"]) == (1, 1000) for row in rows)
    assert totals["money"]["eur"]["captured_minor"] == 1000 * len(rows)


def test_what_was_under_way_goes_on_after_a_restart(tmp_path: Path) -> None:
    """Events not yet taken are delivered, and processing intents settle, once the service is back."""
    books = tmp_path / "books.db"
    with Sink() as sink:
        for _ in range(1000):
            sink.statuses.put(503)
        launch = Launch(
            books,
            API_KEY,
            webhook_url=sink.url,
            webhook_secrets=(SIGNING_SECRET,),
            flags={"webhook_retry_first_s": 60, "processing_delay_s": 60},
        )
        with PaymentProcess(launch) as cut:
            api = client(cut.url)
            intent = api.v1.payment_intents.create({"amount": 2000, "currency": "eur"}).id
            api.v1.payment_intents.confirm(intent, {"payment_method": "pm_processing_fail"})
            sink.of(intent, 2)
            cut.kill()
        sink.accept_all()

        with PaymentProcess(launch) as again:
            told = sink.of(intent, 2)
            control(again.url, "settle", {"payment_intent": intent, "outcome": "failed"})
            failed = sink.of(intent, 1)[0]

    assert sorted(one.event["type"] for one in told) == ["payment_intent.created", "payment_intent.processing"]
    assert failed.event["type"] == "payment_intent.payment_failed"


def test_a_processing_intent_settles_by_itself(tmp_path: Path) -> None:
    """After its delay a processing intent succeeds or fails, as its payment method says."""
    with PaymentProcess(Launch(tmp_path / "books.db", API_KEY, flags={"processing_delay_s": 0.01})) as service:
        api = client(service.url)
        for method_id, status in (("pm_processing", "succeeded"), ("pm_processing_fail", "requires_payment_method")):
            intent = api.v1.payment_intents.create({"amount": 2000, "currency": "eur"}).id
            api.v1.payment_intents.confirm(intent, {"payment_method": method_id})
            _until(partial(_stands, api, intent, status))


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    """A taken port ends the service with 2 and a sentence that says what to do."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        said = _refused("--data", str(tmp_path / "books.db"), "--port", str(taken.getsockname()[1]))

    assert "is taken" in said
    assert "--port" in said


def test_an_unwritable_folder_is_named(tmp_path: Path) -> None:
    """A folder that cannot be made, or a file that is no database, ends the service with 2 and a sentence."""
    (tmp_path / "file").write_text("no folder")
    assert "--data" in _refused("--data", str(tmp_path / "file" / "books.db"))
    (tmp_path / "noise.db").write_bytes(b"noise" * 1000)
    assert "--data" in _refused("--data", str(tmp_path / "noise.db"))


def test_two_services_never_share_books(tmp_path: Path) -> None:
    """A second service on the same file does not start; a clean stop ends with 0 and frees the file."""
    books = tmp_path / "books.db"
    first = PaymentProcess(Launch(books, API_KEY))
    assert "Another payment service" in _refused("--data", str(books))
    assert first.stop() == 0

    with PaymentProcess(Launch(books, API_KEY)) as second:
        assert control(second.url, "health")["status"] == "ok"


def test_it_does_not_outlive_its_starter(tmp_path: Path) -> None:
    """When the starter is gone and its pipe closed, the service stops cleanly."""
    with PaymentProcess(Launch(tmp_path / "books.db", API_KEY)) as service:
        assert service._child.stdin is not None
        service._child.stdin.close()
        assert service._child.wait(30) == 0


def test_a_stop_does_not_wait_for_slow_answers(tmp_path: Path) -> None:
    """A request that is held back does not hold up a clean stop, and what it did is in the books."""
    books = tmp_path / "books.db"
    with PaymentProcess(Launch(books, API_KEY)) as slow, ThreadPoolExecutor() as pool:
        intent = client(slow.url).v1.payment_intents.create({"amount": 2000, "currency": "eur"})
        control(slow.url, "faults", {"answer_delay_s": 3600})
        unanswered = pool.submit(_pay, slow.url, intent.id)
        _until(lambda: control(slow.url, "books")["intents"].get("succeeded") == 1)
        assert slow.stop() == 0
        with pytest.raises(stripe.StripeError):
            unanswered.result(timeout=10)
    with PaymentProcess(Launch(books, API_KEY)) as again:
        assert _pay(again.url, intent.id).status == "succeeded"


def _refused(*arguments: str) -> str:
    ended = subprocess.run([*COMMAND, "--api-key", API_KEY, *arguments], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert len(ended.stderr.strip().splitlines()) == 1
    return ended.stderr
