"""The document, and the page to try it on."""

from __future__ import annotations

import re

from infra.openapi import PATH, document_text
from ingest.door import Door
from ingest.openapi import openapi_document
from tests.unit.ingest.client import Client


def test_the_committed_document_is_the_routes() -> None:
    """infra/openapi.json is what the routes say; else run `make openapi`."""
    assert PATH.read_text(encoding="utf-8") == document_text()


def test_every_operation_is_described(door: Door) -> None:
    """Each says what it does, who may call it, what it answers and that it may be busy."""
    document = openapi_document(door.make_resolver())
    public = {"read_event", "follow_event", "health", "note_payment"}
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]

    assert len(operations) >= 11
    for operation in operations:
        assert not operation["summary"].startswith(("GET ", "POST ", "DELETE "))
        assert ("security" in operation) == (operation["operationId"] not in public)
        assert "503" in operation["responses"]
        for status, response in operation["responses"].items():
            (kind,) = response["content"]
            assert kind == ("application/json" if status.startswith("2") else "application/problem+json")


def test_every_reference_leads_somewhere(door: Door) -> None:
    """No schema is named that does not stand in the document, and none stands there unused."""
    document = openapi_document(door.make_resolver())
    named = set(re.findall(r"#/components/schemas/(\w+)", str(document)))

    assert named == set(document["components"]["schemas"])


def test_the_document_is_served(ann: Client) -> None:
    """Anyone may read it."""
    reply = ann.ask("GET", "/openapi.json")

    assert reply.status == 200
    assert reply.json["info"]["title"] == "Onsale"
    parameters = reply.json["paths"]["/v1/events/{event_id}/orders"]["post"]["parameters"]
    assert "Idempotency-Key" in [parameter["name"] for parameter in parameters]


def test_the_page_asks_nobody_outside(ann: Client) -> None:
    """Everything it needs stands in it, and its policy keeps browsers from asking another host."""
    reply = ann.ask("GET", "/docs")

    assert reply.status == 200
    assert reply.headers["Content-Type"] == "text/html; charset=utf-8"
    policy = reply.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "http" not in policy
    assert not re.search(r"<(?:script|link|img)[^>]*(?:src|href)\s*=\s*[\"']?(?:https?:)?//", reply.text)
    assert "SwaggerUIBundle" in reply.text
