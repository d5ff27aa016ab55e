"""A call of DynamoDB's API is priced as the documentation prices it."""

from __future__ import annotations

from typing import Any

import pytest

from infra.model.action import Action
from infra.model.charges import Together, price, tables_of
from infra.model.expressions import key_condition, parse_update
from infra.model.item_book import ItemBook
from infra.model.item_size import item_bytes, number_bytes, read_units, value_bytes, write_units
from infra.model.schema import TableSchema, schema_of

TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"
WORK = TABLE + "/index/work"
DESCRIPTION: dict[str, Any] = {
    "TableName": "orders",
    "TableArn": TABLE,
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "BillingModeSummary": {"BillingMode": "PAY_PER_REQUEST"},
    "GlobalSecondaryIndexes": [
        {
            "IndexName": "work",
            "KeySchema": [{"AttributeName": "wpk", "KeyType": "HASH"}, {"AttributeName": "wsk", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["size"]},
        }
    ],
}
SCHEMAS: dict[str, TableSchema] = {"orders": schema_of(DESCRIPTION)}
KEY = {"pk": {"S": "event#1"}, "sk": {"S": "o1"}}
WORKING = {"wpk": {"S": "event#1"}, "wsk": {"S": "line#1"}, "size": {"N": "2"}}


def units(actions: tuple[Action, ...]) -> tuple[float, float]:
    """(table, index) units of several actions."""
    return (
        sum(c.units for a in actions for c in a.charges),
        sum(c.units for a in actions for c in a.index_charges),
    )


def priced(operation: str, body: dict[str, Any], book: ItemBook | None = None, **options: int) -> tuple[Action, ...]:
    """The actions of a call on the table of orders."""
    found = price(operation, body, SCHEMAS, book if book is not None else ItemBook(), **options)
    assert found is not None
    return found.actions


def stored(attributes: dict[str, Any]) -> ItemBook:
    """A book in which one put has succeeded."""
    book = ItemBook()
    (action,) = priced("PutItem", {"TableName": "orders", "Item": {**KEY, **attributes}}, book)
    assert action.item_key is not None
    book.remember(action.item_key, action.after)
    return book


def updated(book: ItemBook, expression: str, **values: str) -> tuple[float, float]:
    """Units of an update of the one item."""
    body = {
        "TableName": "orders",
        "Key": KEY,
        "UpdateExpression": expression,
        "ExpressionAttributeNames": {"#s": "size", "#w": "wsk"},
        "ExpressionAttributeValues": {f":{name}": {"S": value} for name, value in values.items()},
    }
    return units(priced("UpdateItem", body, book))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 1), ("7", 2), ("12", 2), ("123", 3), ("-12", 3), ("1.50", 2), ("1000", 2), ("1E400", 2)],
)
def test_a_number_takes_a_byte_per_two_digits_and_one_more(text: str, expected: int) -> None:
    """Leading and trailing zeros are free, a minus sign is a byte."""
    assert number_bytes(text) == expected


def test_sizes_follow_the_published_rules() -> None:
    """UTF-8 bytes of names and values; 3 bytes a list or map and 1 an element."""
    assert item_bytes({"n": {"S": "山田"}}) == 1 + 6
    assert value_bytes({"L": [{"BOOL": True}, {"NULL": True}]}) == 3 + 2 + 2
    assert value_bytes({"M": {"ab": {"S": "x"}}}) == 3 + 1 + 3
    assert value_bytes({"B": "AAAA"}) == 3
    assert value_bytes({"SS": ["a", "bc"]}) == 3
    with pytest.raises(ValueError, match="exactly one"):
        value_bytes({"S": "a", "N": "1"})


def test_units_are_rounded_up_and_doubled_in_transactions() -> None:
    """1 KiB a write, 4 KiB a read; eventually consistent is half, transactional twice."""
    assert [write_units(n) for n in (0, 1, 1024, 1025)] == [1, 1, 1, 2]
    assert write_units(1025, transactional=True) == 4
    assert read_units(4097, consistent=True) == 2
    assert read_units(4096, consistent=False) == 0.5
    assert read_units(1, consistent=True, transactional=True) == 2


def test_an_accept_costs_one_unit_on_table_and_index() -> None:
    """One conditional put of an order that waits."""
    assert units(priced("PutItem", {"TableName": "orders", "Item": {**KEY, **WORKING}})) == (1, 1)


def test_a_put_outside_the_sparse_index_leaves_it_alone() -> None:
    """Without its keys the index has no entry."""
    assert units(priced("PutItem", {"TableName": "orders", "Item": KEY})) == (1, 0)


def test_index_writes_follow_the_change() -> None:
    """Key change 2, attribute removed 1, projected attribute changed 1, unaffected 0."""
    book = stored(WORKING)
    assert updated(book, "SET #w = :v, stage = :v", v="timer#2") == (1, 2)
    assert updated(book, "REMOVE wpk, #w SET stage = :v", v="done") == (1, 1)
    assert updated(book, "SET #s = :v", v="9") == (1, 1)
    assert updated(book, "SET stage = if_not_exists(stage, :v)", v="x") == (1, 0)
    assert updated(book, "SET #w = :v", v="line#1") == (1, 1)
    assert units(priced("DeleteItem", {"TableName": "orders", "Key": KEY}, book)) == (1, 1)


def test_a_put_that_leaves_the_index_entry_as_it_is_does_not_write_there() -> None:
    """Only the table is written when no projected attribute differs."""
    book = stored(WORKING)
    same = {"TableName": "orders", "Item": {**KEY, **WORKING, "stage": {"S": "later"}}}
    other = {"TableName": "orders", "Item": {**KEY, **WORKING, "size": {"N": "3"}}}
    assert units(priced("PutItem", same, book)) == (1, 0)
    assert units(priced("PutItem", other, book)) == (1, 1)


def test_an_update_of_a_large_item_costs_its_size() -> None:
    """The item's own size counts, not that of the change."""
    book = stored({"blob": {"S": "x" * 3_000}})
    assert updated(book, "SET stage = :v", v="x") == (3, 0)


def test_a_removed_index_entry_of_an_unknown_item_is_counted_as_unplaced() -> None:
    """Where the old entry lies cannot be known; the truth says how many of these there were."""
    body = {"TableName": "orders", "Key": KEY, "UpdateExpression": "REMOVE wpk, wsk"}
    (action,) = priced("UpdateItem", body)
    assert (action.unplaced, action.index_charges) == (1, ())


def test_the_life_of_an_order_costs_what_was_counted() -> None:
    """Accept 1 + 1, held in a transaction 2 + 2 beside 2 for the slice, confirmed 1 + 1: 8 and a share of 2/49."""
    book = stored(WORKING)
    hold = {
        "Update": {
            "TableName": "orders",
            "Key": KEY,
            "UpdateExpression": "SET #w = :v",
            "ExpressionAttributeNames": {"#w": "wsk"},
            "ExpressionAttributeValues": {":v": {"S": "timer#2"}},
        }
    }
    piece = {"Update": {"TableName": "orders", "Key": {"pk": {"S": "slice"}, "sk": {"S": "0"}}}}
    order, seats = priced("TransactWriteItems", {"TransactItems": [hold, piece]}, book)
    assert units((order,)) == (2, 2)
    assert units((seats,)) == (2, 0)
    doubled = priced("TransactWriteItems", {"TransactItems": [hold]}, book, index_transaction_factor=2)
    assert units(doubled) == (2, 4)
    assert order.item_key is not None
    book.remember(order.item_key, order.after)
    assert updated(book, "REMOVE wpk, #w SET stage = :v", v="confirmed") == (1, 1)


def test_reads_are_priced_by_consistency_and_by_what_they_meet() -> None:
    """A get costs by the item's size, a query at first its first 4 KiB."""
    book = stored({"blob": {"S": "x" * 5_000}})
    get = {"TableName": "orders", "Key": KEY}
    assert units(priced("GetItem", get, book)) == (1, 0)
    assert units(priced("GetItem", {**get, "ConsistentRead": True}, book)) == (2, 0)
    assert units(priced("TransactGetItems", {"TransactItems": [{"Get": get}]}, book)) == (4, 0)
    query = {
        "TableName": "orders",
        "IndexName": "work",
        "KeyConditionExpression": "wpk = :p AND begins_with(#k, :k)",
        "ExpressionAttributeNames": {"#k": "wsk"},
        "ExpressionAttributeValues": {":p": {"S": "event#1"}, ":k": {"S": "line#"}},
    }
    ((charge,),) = (action.charges for action in priced("Query", query))
    assert (charge.resource, charge.partition_key, charge.sort_key, charge.units) == (WORK, b"event#1", b"line#", 0.5)


def test_batches_are_priced_element_by_element() -> None:
    """Each put, delete and key stands for itself."""
    batch = {"RequestItems": {"orders": [{"PutRequest": {"Item": KEY}}, {"DeleteRequest": {"Key": KEY}}]}}
    found = price("BatchWriteItem", batch, SCHEMAS, ItemBook())
    assert found is not None
    assert found.together is Together.BATCH_WRITE
    assert units(found.actions) == (2, 0)
    gets = {"RequestItems": {"orders": {"Keys": [KEY, KEY], "ConsistentRead": True}}}
    assert units(priced("BatchGetItem", gets)) == (2, 0)


def test_the_tables_of_a_request_are_found() -> None:
    """Each once; none for what is not priced."""
    transaction = {
        "TransactItems": [{"Put": {"TableName": "a"}}, {"Update": {"TableName": "b"}}, {"Put": {"TableName": "a"}}]
    }
    assert tables_of("TransactWriteItems", transaction) == ("a", "b")
    assert tables_of("BatchGetItem", {"RequestItems": {"a": {}, "b": {}}}) == ("a", "b")
    assert tables_of("ListTables", {}) == ()


def test_update_expressions_are_read() -> None:
    """Placeholders, nested paths, functions with commas, all four clauses."""
    update = parse_update(
        {
            "UpdateExpression": "set a = :a, #b.c = list_append(#b.c, :l), n = n + :a "
            "remove d, e[1] ADD f :a DELETE g :a",
            "ExpressionAttributeNames": {"#b": "b"},
            "ExpressionAttributeValues": {":a": {"N": "1"}, ":l": {"L": []}},
        }
    )
    assert update.changed == {"a", "b", "n", "d", "e", "f", "g"}
    assert dict(update.assigned) == {"a": {"N": "1"}}
    assert update.removed == {"d"}


def test_key_conditions_are_read() -> None:
    """Equality, and the lower end of a range."""
    values = {":p": {"S": "x"}, ":a": {"N": "5"}, ":b": {"N": "9"}}
    for expression in ("pk = :p AND sk BETWEEN :a AND :b", "pk=:p and sk >= :a", "sk > :a AND pk = :p"):
        found = key_condition({"KeyConditionExpression": expression, "ExpressionAttributeValues": values})
        assert found == {"pk": {"S": "x"}, "sk": {"N": "5"}}
