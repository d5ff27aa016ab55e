"""From a call of DynamoDB's API to what it costs: pure functions of operation, body, schemas and book."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from infra.model.action import Action
from infra.model.item_book import ItemBook
from infra.model.read_actions import ReadPricer
from infra.model.schema import TableSchema
from infra.model.write_actions import WritePricer

Schemas = Mapping[str, TableSchema]
"""By table name."""


MALFORMED = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, StopIteration)
"""What pricing raises for a body that DynamoDB would not accept either."""


class Together(Enum):
    """Whether a request's actions stand or fall together."""

    SINGLE = auto()
    TRANSACTION = auto()
    BATCH_WRITE = auto()
    BATCH_GET = auto()


@dataclass(frozen=True, slots=True)
class Priced:
    """A request's actions, in the order in which its answer lists them.

    requests: for a batch, the (table, element) each action stands for, so that the unprocessed can be named.
    """

    together: Together
    actions: tuple[Action, ...]
    requests: tuple[tuple[str, Mapping[str, Any]], ...] = ()


def tables_of(operation: str, body: Mapping[str, Any]) -> tuple[str, ...]:
    """Names (or ARNs) of the tables a request touches; empty for what is not priced. Raises as `price` does."""
    match operation:
        case "PutItem" | "UpdateItem" | "DeleteItem" | "GetItem" | "Query" | "Scan":
            return (body["TableName"],)
        case "BatchWriteItem" | "BatchGetItem":
            return tuple(body["RequestItems"])
        case "TransactWriteItems" | "TransactGetItems":
            return tuple(dict.fromkeys(next(iter(a.values()))["TableName"] for a in body["TransactItems"]))
    return ()


def price(
    operation: str, body: Mapping[str, Any], schemas: Schemas, book: ItemBook, *, index_transaction_factor: int = 1
) -> Priced | None:
    """Price a request; none for an operation that costs nothing here.

    Raises one of `MALFORMED` for a body that DynamoDB would not accept either.
    """
    match operation:
        case "BatchWriteItem":
            return _batch_write(body, schemas, book)
        case "BatchGetItem":
            return _batch_get(body, schemas, book)
        case "TransactWriteItems":
            return _transact_write(body, schemas, book, index_transaction_factor)
        case "TransactGetItems":
            return _transact_get(body, schemas, book)
    action = _single(operation, body, schemas, book)
    return None if action is None else Priced(Together.SINGLE, (action,))


def _single(operation: str, body: Mapping[str, Any], schemas: Schemas, book: ItemBook) -> Action | None:
    match operation:
        case "PutItem" | "UpdateItem" | "DeleteItem":
            return _write(WritePricer(schemas[body["TableName"]], book), operation, body)
        case "GetItem":
            reader = ReadPricer(schemas[body["TableName"]], book)
            return reader.get(body["Key"], consistent=bool(body.get("ConsistentRead")))
        case "Query" | "Scan":
            return ReadPricer(schemas[body["TableName"]], book).query(body)
    return None


def _write(pricer: WritePricer, operation: str, body: Mapping[str, Any]) -> Action:
    match operation:
        case "PutItem" | "Put" | "PutRequest":
            return pricer.put(body["Item"])
        case "UpdateItem" | "Update":
            return pricer.update(body)
        case "DeleteItem" | "Delete" | "DeleteRequest":
            return pricer.delete(body["Key"])
        case "ConditionCheck":
            return pricer.check(body["Key"])
    raise ValueError(f"No write action is called {operation!r}.")


def _batch_write(body: Mapping[str, Any], schemas: Schemas, book: ItemBook) -> Priced:
    requests = [(table, element) for table, elements in body["RequestItems"].items() for element in elements]
    actions = []
    for table, element in requests:
        ((kind, content),) = element.items()
        actions.append(_write(WritePricer(schemas[table], book), kind, content))
    return Priced(Together.BATCH_WRITE, tuple(actions), tuple(requests))


def _batch_get(body: Mapping[str, Any], schemas: Schemas, book: ItemBook) -> Priced:
    requests = [(table, key) for table, wanted in body["RequestItems"].items() for key in wanted["Keys"]]
    consistent = {table: bool(wanted.get("ConsistentRead")) for table, wanted in body["RequestItems"].items()}
    actions = [ReadPricer(schemas[table], book).get(key, consistent=consistent[table]) for table, key in requests]
    return Priced(Together.BATCH_GET, tuple(actions), tuple(requests))


def _transact_write(body: Mapping[str, Any], schemas: Schemas, book: ItemBook, index_factor: int) -> Priced:
    actions = []
    for element in body["TransactItems"]:
        ((kind, content),) = element.items()
        table = schemas[content["TableName"]]
        pricer = WritePricer(table, book, transactional=True, index_factor=index_factor)
        actions.append(_write(pricer, kind, content))
    return Priced(Together.TRANSACTION, tuple(actions))


def _transact_get(body: Mapping[str, Any], schemas: Schemas, book: ItemBook) -> Priced:
    gets = [element["Get"] for element in body["TransactItems"]]
    actions = [
        ReadPricer(schemas[get["TableName"]], book).get(get["Key"], consistent=True, transactional=True) for get in gets
    ]
    return Priced(Together.TRANSACTION, tuple(actions))
