"""The API over HTTP, as a buyer's program meets it: the real server, the real store, real tokens."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.integration.servers import RunningServer, make_mint, running_server, start

SALE: dict[str, Any] = {
    "event_id": "gig",
    "name": "The Gig",
    "currency": "EUR",
    "opens_at": "2020-01-01T00:00:00Z",
    "closes_at": "2100-01-01T00:00:00Z",
    "pools": [{"pool_id": "floor", "capacity": 100}],
    "ticket_types": [{"ticket_type_id": "standing", "name": "Standing", "pool_id": "floor", "price": "25.00"}],
}
ORDERS = "/v1/events/gig/orders"
ORDER = {"lines": [{"ticket_type_id": "standing", "quantity": 2}]}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """Return a server with one sale open."""
    with running_server(tmp_path_factory.mktemp("data")) as server:
        created = server.ask("POST", "/v1/staff/sales", SALE, token=server.token("boss", "staff:write"))
        assert created.status == 201
        yield server


def test_an_order_is_placed_read_and_cancelled(server: RunningServer) -> None:
    """The whole way of a buyer who changes their mind."""
    token = server.token("ann")

    placed = server.ask("POST", ORDERS, ORDER, token=token, headers={"Idempotency-Key": '"way"'})
    again = server.ask("POST", ORDERS, ORDER, token=token, headers={"Idempotency-Key": '"way"'})
    read = server.ask("GET", placed.headers["location"], token=token)
    cancelled = server.ask("DELETE", placed.headers["location"], token=token)

    assert (placed.status, again.status, read.status, cancelled.status) == (202, 202, 200, 200)
    assert again.headers["location"] == placed.headers["location"]
    assert (read.json["status"], cancelled.json["status"]) == ("queued", "cancelled")


def test_names_arrive_as_they_were_sent(server: RunningServer) -> None:
    """R10: UTF-8 on the wire, both ways."""
    token, name = server.token("ann"), "山田 👩‍👩‍👧‍👦 أحمد"
    body = json.dumps({**ORDER, "holder": name}, ensure_ascii=False).encode()

    placed = server.ask("POST", ORDERS, body, token=token)

    assert server.ask("GET", placed.headers["location"], token=token).json["holder"] == name


def test_fifty_at_once_with_one_key_are_one_order(server: RunningServer) -> None:
    """K2: over HTTP, on threads and connections of their own."""
    token = server.token("cat")

    def place(_: int) -> tuple[int, str]:
        answer = server.ask("POST", ORDERS, ORDER, token=token, headers={"Idempotency-Key": "k2"})
        return answer.status, answer.headers["location"]

    with ThreadPoolExecutor(50) as pool:
        answers = set(pool.map(place, range(50)))

    assert {status for status, _ in answers} == {202}
    assert len(answers) == 1


def test_two_hundred_behind_one_address_are_served(server: RunningServer) -> None:
    """K9: an address is no buyer; nobody is held up for sharing one."""
    tokens = [server.token(f"k9-{number}") for number in range(200)]
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda token: server.ask("POST", ORDERS, ORDER, token=token), tokens))

    assert {answer.status for answer in answers} == {202}
    assert len({answer.headers["location"] for answer in answers}) == 200


def test_a_key_twice_in_the_header_is_400(server: RunningServer) -> None:
    """K5: two header lines arrive joined by a comma, and are no key."""
    lines = [
        f"POST {ORDERS} HTTP/1.1",
        "Host: x",
        f"Authorization: Bearer {server.token('ann')}",
        "Content-Type: application/json",
        "Idempotency-Key: a",
        "Idempotency-Key: a",
        f"Content-Length: {len(json.dumps(ORDER))}",
        "Connection: close",
        "",
        json.dumps(ORDER),
    ]

    assert b"bad-idempotency-key" in _raw(server, "\r\n".join(lines).encode())


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_another_buyer_finds_nothing(method: str, server: RunningServer) -> None:
    """K10: over HTTP."""
    placed = server.ask("POST", ORDERS, ORDER, token=server.token("ann"))

    assert server.ask(method, placed.headers["location"], token=server.token("bob")).status == 404


def test_without_a_token_there_is_only_what_is_public(server: RunningServer) -> None:
    """Orders and staff routes are 401, the event, health and documents are open."""
    assert server.ask("POST", ORDERS, ORDER).status == 401
    assert server.ask("GET", "/v1/staff/sales").status == 401
    for path in ("/v1/events/gig", "/healthz", "/docs", "/openapi.json"):
        assert server.ask("GET", path).status == 200


def test_a_stranger_s_token_is_401(server: RunningServer, tmp_path: Path) -> None:
    """Signed with another key, however well formed: a problem, on public routes too."""
    forged = make_mint(tmp_path).mint("boss", ["staff:write"], 600)

    for method, path in (("POST", ORDERS), ("GET", "/v1/staff/sales"), ("GET", "/v1/events/gig")):
        answer = server.ask(method, path, ORDER if method == "POST" else None, token=forged)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
        assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_too_large_is_413(declared: bool, server: RunningServer) -> None:
    """R11: by its declared length or, in chunks, by what has come."""
    head = f"POST {ORDERS} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    if declared:
        sent = f"{head}Content-Length: 4097\r\n\r\n".encode() + b" " * 4097
    else:
        sent = f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + b"1001\r\n" + b" " * 4097 + b"\r\n0\r\n\r\n"

    assert _raw(server, sent).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    "target",
    [
        "/v1/events/a%2Fb",
        "/v1/events/a%23b/orders",
        "/v1/events/%F0%9F%8E%B8",
        "/v1/events/%FF%FE",
        "/v1/events/%",
        "/v1/events/%00",
        "/v1/events/" + "x" * 300,
        "/v1/events/gig?x=%FF&y=%F0%9F%8E%B8&x=",
        "/../../etc/passwd",
        "//",
        "*",
        "/v1/events/caf\xe9",
    ],
)
def test_no_address_breaks_the_server(target: str, server: RunningServer) -> None:
    """R13: encoded slashes, signs, emoji, broken escapes and raw bytes are answered below 500."""
    answer = _raw(server, f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode("latin-1"))

    assert 200 <= int(answer.split(b" ", 2)[1]) < 500


@pytest.mark.parametrize(
    "header",
    [
        "X-Odd: \xff\xfe",
        "Authorization: Bearer \xff",
        "Authorization: Bearer",
        "Cookie: a",
        "Cookie: ;;;=",
        "Content-Type: \xe9",
        "Idempotency-Key: \xe9",
        "X-Correlation-Id: \xe9",
        "X-Long: " + "x" * 8_000,
    ],
)
def test_no_header_breaks_the_server(header: str, server: RunningServer) -> None:
    """Whatever bytes a header holds."""
    answer = _raw(
        server, f"GET /healthz HTTP/1.1\r\nHost: x\r\n{header}\r\nConnection: close\r\n\r\n".encode("latin-1")
    )

    assert 200 <= int(answer.split(b" ", 2)[1]) < 500


def test_a_connection_serves_many_requests(server: RunningServer) -> None:
    """Keep-alive, also after a refusal."""
    request = b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

    answer = _raw(server, request)

    assert answer.count(b"HTTP/1.1 ") == 2
    assert b'{"status":"ok"}' in answer


def test_an_accepted_order_outlives_the_process(tmp_path: Path) -> None:
    """K7: killed at once after the answer, started again over the same folder: the key names the same order."""
    with running_server(tmp_path) as server:
        token = server.token("ann")
        server.ask("POST", "/v1/staff/sales", SALE, token=server.token("boss", "staff:write"))
        placed = server.ask("POST", ORDERS, ORDER, token=token, headers={"Idempotency-Key": "k7"})
        server.process.kill()
    with running_server(tmp_path) as server:
        again = server.ask("POST", ORDERS, ORDER, token=token, headers={"Idempotency-Key": "k7"})

    assert (placed.status, again.status) == (202, 202)
    assert again.headers["location"] == placed.headers["location"]
    assert again.json["accepted_at"] == placed.json["accepted_at"]


def test_a_taken_port_is_a_sentence(server: RunningServer, tmp_path: Path) -> None:
    """Exit 2 and what to do about it."""
    process = start(tmp_path, "--port", str(server.port))
    output, said = process.communicate(timeout=30)

    assert (process.returncode, output) == (2, "")
    assert said.startswith(f"Port {server.port} on 127.0.0.1 is taken")
    assert len(said.splitlines()) == 1


def test_an_unwritable_folder_is_a_sentence(tmp_path: Path) -> None:
    """Exit 5: the store cannot be reached."""
    (tmp_path / "file").touch()
    process = start(tmp_path / "file" / "data", "--port", "0")
    output, said = process.communicate(timeout=30)

    assert (process.returncode, output) == (5, "")
    assert "ONSALE_DATA_DIR" in said
    assert len(said.splitlines()) == 1


def test_a_setting_that_does_not_fit_is_a_sentence(tmp_path: Path) -> None:
    """It names the variable."""
    process = start(tmp_path, "--port", "0", ONSALE_INGEST_PROCESSES="many")
    _, said = process.communicate(timeout=30)

    assert process.returncode == 4
    assert "ONSALE_INGEST_PROCESSES" in said


def test_being_told_to_stop_is_no_failure(tmp_path: Path) -> None:
    """SIGTERM ends the server with 0 and nothing to say."""
    with running_server(tmp_path) as server:
        server.process.terminate()
        _, said = server.process.communicate(timeout=20)

        assert (server.process.returncode, said) == (0, "")


def _raw(server: RunningServer, sent: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall(sent)
        received = b""
        while part := line.recv(65_536):
            received += part
            if received.startswith(b"HTTP/1.1 413"):
                break
        return received
