"""What values show of themselves in logs and tracebacks."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest
from msgspec import Struct
from rich.pretty import pretty_repr

import ingest
import shared
from shared.domain.discreet import Discreet
from shared.domain.order import Payment
from shared.ports.exchange import HttpRequest
from tests.builders import make_order, make_sale

SECRET = {"client_secret", "headers", "holder", "salt", "tickets"}
for room in (ingest, shared):
    for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
        importlib.import_module(module.name)


def structs(of: type[Struct] = Struct) -> Iterator[type[Struct]]:
    """Every kind of struct that ingest and shared declare."""
    for one in of.__subclasses__():
        if one.__module__.partition(".")[0] in {"ingest", "shared"}:
            yield one
        yield from structs(one)


def qualified(kind: type) -> str:
    """Where a struct is found."""
    return f"{kind.__module__}.{kind.__name__}"


@pytest.mark.parametrize("kind", [one for one in structs() if SECRET & {*one.__struct_fields__}], ids=qualified)
def test_secrets_and_names_are_never_shown(kind: type[Struct]) -> None:
    """Whatever holds one of these leaves it out."""
    assert issubclass(kind, Discreet)
    assert SECRET & {*kind.__struct_fields__} <= kind.hidden


@pytest.mark.parametrize("kind", list(structs(Discreet)), ids=qualified)
def test_what_is_hidden_is_a_member(kind: type[Discreet]) -> None:
    """A member by another name would be shown."""
    assert kind.hidden
    assert kind.hidden <= {*kind.__struct_fields__}


@pytest.mark.parametrize("write", [repr, str, pretty_repr, "{!r}".format])
def test_hidden_members_are_left_out_however_it_is_written(write: object) -> None:
    """The rest is there, and what stands inside other values is left out too."""
    assert callable(write)
    order = make_order(holder="Ann Arbor", tickets=("T-1",), payment=Payment(method="pm_1", client_secret="cs_1"))
    request = HttpRequest("POST", "http://127.0.0.1/", {"Authorization": "signed"}, b"written", 1.0, 2.0)

    text = write((order, make_sale(salt=b"grainy"), request))

    assert "'pm_1'" in text
    for hidden in ("Ann Arbor", "T-1", "cs_1", "grainy", "signed", "written"):
        assert hidden not in text
