"""Records to rows of SQLite and back; the only place that knows how a field is stored."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import astuple, fields
from typing import Any

from infra.local.payment_service.methods import Decline
from infra.local.payment_service.records import Charge, ChargeStatus, Event, Intent, Refund, Status

INTENT_COLUMNS = tuple(field.name for field in fields(Intent))
CHARGE_COLUMNS = tuple(field.name for field in fields(Charge))
REFUND_COLUMNS = tuple(field.name for field in fields(Refund))
EVENT_COLUMNS = tuple(field.name for field in fields(Event))


def intent_row(intent: Intent) -> dict[str, Any]:
    """An intent as column values."""
    row = {name: getattr(intent, name) for name in INTENT_COLUMNS}
    row["status"] = str(intent.status)
    row["metadata"] = json.dumps(dict(intent.metadata))
    row["last_error"] = json.dumps(intent.last_error) if intent.last_error else None
    row["settle_decline"] = _decline_text(intent.settle_decline)
    return row


def to_intent(row: sqlite3.Row) -> Intent:
    """A row of `intents` as an intent."""
    values = {name: row[name] for name in INTENT_COLUMNS}
    values["status"] = Status(row["status"])
    values["metadata"] = json.loads(row["metadata"])
    values["last_error"] = json.loads(row["last_error"]) if row["last_error"] else None
    values["settle_decline"] = _to_decline(row["settle_decline"])
    return Intent(**values)


def charge_row(charge: Charge) -> dict[str, Any]:
    """A charge as column values."""
    row = {name: getattr(charge, name) for name in CHARGE_COLUMNS}
    row["status"] = str(charge.status)
    row["decline"] = _decline_text(charge.decline)
    return row


def to_charge(row: sqlite3.Row) -> Charge:
    """A row of `charges` as a charge."""
    values = {name: row[name] for name in CHARGE_COLUMNS}
    values["status"] = ChargeStatus(row["status"])
    values["decline"] = _to_decline(row["decline"])
    return Charge(**values)


def refund_row(refund: Refund) -> dict[str, Any]:
    """A refund as column values."""
    return {name: getattr(refund, name) for name in REFUND_COLUMNS} | {"metadata": json.dumps(dict(refund.metadata))}


def to_refund(row: sqlite3.Row) -> Refund:
    """A row of `refunds` as a refund."""
    values = {name: row[name] for name in REFUND_COLUMNS}
    values["metadata"] = json.loads(row["metadata"])
    return Refund(**values)


def to_event(row: sqlite3.Row) -> Event:
    """A row of `events` as an event."""
    return Event(**{name: row[name] for name in EVENT_COLUMNS})


def insert_sql(table: str, columns: Mapping[str, Any]) -> str:
    """An INSERT with named parameters; table and columns are our own constants, never input."""
    names = ", ".join(columns)
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join(':' + name for name in columns)})"  # noqa: S608


def update_sql(table: str, columns: Mapping[str, Any]) -> str:
    """An UPDATE by id with named parameters; table and columns are our own constants, never input."""
    changes = ", ".join(f"{name} = :{name}" for name in columns if name not in {"id", "seq"})
    return f"UPDATE {table} SET {changes} WHERE id = :id"  # noqa: S608


def _decline_text(decline: Decline | None) -> str | None:
    return json.dumps(astuple(decline)) if decline else None


def _to_decline(text: str | None) -> Decline | None:
    return Decline(*json.loads(text)) if text else None
