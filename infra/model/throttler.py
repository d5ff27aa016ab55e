"""The wall as a gate: each request is priced, charged, and let through or answered as DynamoDB would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from infra.model.action import Action
from infra.model.answers import Body, cancelled, throttled, unprocessed_items, unprocessed_keys
from infra.model.capacity import Capacity, OnDemand, Provisioned
from infra.model.charges import MALFORMED, Priced, Together, price, tables_of
from infra.model.item_book import ItemBook
from infra.model.partition_model import PartitionModel
from infra.model.read_actions import ReadPricer
from infra.model.reasons import ThrottlingReason
from infra.model.schema import TableSchema, schema_of
from infra.model.truth import Truth

_CONDITION_FAILED = "ConditionalCheckFailedException"


@dataclass(frozen=True, slots=True)
class Passage:
    """What to do with a request.

    refusal: the body of a 400 to answer at once; none: go on to the endpoint.
    forward: the body to send there when it is not the client's own (a batch without its refused part).
    served: the actions that go through. refused: elements of a batch to report as unprocessed.
    """

    operation: str
    body: Mapping[str, Any]
    refusal: Body | None = None
    forward: Body | None = None
    served: tuple[Action, ...] = ()
    refused: tuple[tuple[str, Mapping[str, Any]], ...] = ()


@dataclass(slots=True)
class Throttler:
    """A partition model in front of an endpoint. Pure but for its own state: the caller brings the time.

    warm_write_units, warm_read_units: bought ahead for every on-demand table and index (before scaling).
    """

    model: PartitionModel = field(default_factory=PartitionModel)
    book: ItemBook = field(default_factory=ItemBook)
    truth: Truth = field(default_factory=Truth)
    scale: float = 1.0
    warm_write_units: float | None = None
    warm_read_units: float | None = None
    schemas: dict[str, TableSchema] = field(default_factory=dict)

    def unknown_tables(self, operation: str, body: Mapping[str, Any]) -> list[str]:
        """Tables of a request whose description has to be learnt first."""
        try:
            return [name for name in tables_of(operation, body) if name not in self.schemas]
        except MALFORMED:
            return []

    def learn(self, description: Mapping[str, Any], now_us: int) -> None:
        """Take in a table's description; a new table or index starts as DynamoDB starts it."""
        schema = schema_of(description)
        self.schemas[schema.name] = self.schemas[schema.arn] = schema
        if not self.model.knows(schema.arn):
            indexes = {index.arn: self._scaled(index.capacity) for index in schema.indexes}
            self.model.create_table(
                schema.arn,
                self._scaled(schema.capacity),
                indexes=indexes,
                has_local_index=bool(schema.local_indexes),
                now_us=now_us,
            )
        for index in schema.indexes:
            if not self.model.knows(index.arn):
                self.model.create_index(index.arn, self._scaled(index.capacity), now_us=now_us)

    def outdate(self, table: str) -> None:
        """A table was changed: its description has to be learnt again, its partitions stay."""
        schema = self.schemas.get(table)
        if schema is not None:
            self.schemas = {name: known for name, known in self.schemas.items() if known.arn != schema.arn}

    def forget(self, table: str) -> None:
        """A table was deleted."""
        schema = self.schemas.get(table)
        if schema is None:
            return
        self.outdate(table)
        self.book.forget_table(schema.arn)
        for resource in (schema.arn, *(index.arn for index in schema.indexes)):
            self.model.drop(resource)

    def _scaled(self, capacity: Capacity) -> Capacity:
        def times(units: float | None) -> float | None:
            return None if units is None else units * self.scale

        if isinstance(capacity, Provisioned):
            return Provisioned(capacity.write_units * self.scale, capacity.read_units * self.scale)
        return OnDemand(
            times(self.warm_write_units or capacity.warm_write_units),
            times(self.warm_read_units or capacity.warm_read_units),
            times(capacity.max_write_units),
            times(capacity.max_read_units),
        )

    def admit(self, operation: str, body: Mapping[str, Any], now_us: int) -> Passage:
        """Charge a request, all of whose tables are known, and say whether it goes through."""
        factor = self.model.assumed.index_transaction_factor
        try:
            priced = price(operation, body, self.schemas, self.book, index_transaction_factor=factor)
        except MALFORMED:
            priced = None  # not ours to complain about: the endpoint says what is wrong with it
        if priced is None:
            self.truth.unpriced[operation] += 1
            return Passage(operation, body)
        if priced.together is Together.TRANSACTION or priced.together is Together.SINGLE:
            return self._admit_whole(operation, body, priced, now_us)
        return self._admit_batch(operation, body, priced, now_us)

    def _admit_whole(self, operation: str, body: Mapping[str, Any], priced: Priced, now_us: int) -> Passage:
        charges = [charge for action in priced.actions for charge in action.all_charges]
        verdict = self.model.attempt(charges, now_us)
        groups, at = [], 0
        for action in priced.actions:
            size = len(action.all_charges)
            group = [reason for reasons in verdict.reasons[at : at + size] for reason in reasons]
            groups.append(tuple(dict.fromkeys(group)))
            at += size
        self.truth.note(operation, priced.actions, tuple(groups))
        if verdict.passed:
            return self._let_through(Passage(operation, body, served=priced.actions))
        provisioned = self._is_provisioned(priced.actions[0])
        if priced.together is Together.TRANSACTION:
            return Passage(operation, body, refusal=cancelled(groups, provisioned_table=provisioned))
        return Passage(operation, body, refusal=throttled(groups[0], provisioned_table=provisioned))

    def _admit_batch(self, operation: str, body: Mapping[str, Any], priced: Priced, now_us: int) -> Passage:
        """Each element stands alone; only if none passes is the whole request refused."""
        groups = tuple(self.model.attempt(action.all_charges, now_us).distinct() for action in priced.actions)
        self.truth.note(operation, priced.actions, groups)
        pairs = list(zip(priced.actions, priced.requests, groups, strict=True))
        served = tuple(action for action, _, group in pairs if not group)
        refused = tuple(request for _, request, group in pairs if group)
        if not served:
            reasons: list[ThrottlingReason] = list(dict.fromkeys(reason for group in groups for reason in group))
            provisioned = self._is_provisioned(priced.actions[0])
            return Passage(operation, body, refusal=throttled(reasons, provisioned_table=provisioned))
        passage = Passage(operation, body, served=served, refused=refused)
        if refused:
            passed = [request for _, request, group in pairs if not group]
            wanted = body["RequestItems"]
            batch = unprocessed_items(passed) if operation == "BatchWriteItem" else unprocessed_keys(passed, wanted)
            passage = replace(passage, forward={**body, "RequestItems": batch})
        return self._let_through(passage)

    def _let_through(self, passage: Passage) -> Passage:
        for action in passage.served:
            self.truth.note_served(action)
        return passage

    def _is_provisioned(self, action: Action) -> bool:
        return isinstance(self.schemas[action.table].capacity, Provisioned)

    def settle(self, passage: Passage, status: int, answer: Mapping[str, Any], now_us: int) -> Body | None:
        """Take in the endpoint's answer; returns the answer to give instead, if it has to be another.

        A failed condition costs on the table but changes no index. What a query read beyond its first
        4 KiB is charged now. Refused parts of a batch join the unprocessed ones.
        """
        if status != 200:  # noqa: PLR2004 - the protocol's one success
            self._settle_failure(passage, answer)
            return None
        for action in passage.served:
            if action.item_key is not None:
                self.book.remember(action.item_key, action.after)
        if passage.operation in {"Query", "Scan"} and passage.served:
            pricer = ReadPricer(self.schemas[passage.body["TableName"]], self.book)
            rest = pricer.query_rest(passage.body, answer)
            if rest is not None:
                self.model.debit([rest], now_us)
        if not passage.refused:
            return None
        return _with_unprocessed(passage, answer)

    def _settle_failure(self, passage: Passage, answer: Mapping[str, Any]) -> None:
        kind = str(answer.get("__type", ""))
        if kind.endswith((_CONDITION_FAILED, "TransactionCanceledException")):
            for action in passage.served:
                self.model.give_back(action.index_charges)


def _with_unprocessed(passage: Passage, answer: Mapping[str, Any]) -> Body:
    """The endpoint's own unprocessed rest, and what was refused here."""
    if passage.operation == "BatchWriteItem":
        items = {table: list(elements) for table, elements in (answer.get("UnprocessedItems") or {}).items()}
        for table, elements in unprocessed_items(passage.refused).items():
            items.setdefault(table, []).extend(elements)
        return {**answer, "UnprocessedItems": items}
    keys = {table: dict(rest) for table, rest in (answer.get("UnprocessedKeys") or {}).items()}
    for table, rest in unprocessed_keys(passage.refused, passage.body["RequestItems"]).items():
        known = keys.setdefault(table, {**rest, "Keys": []})
        known["Keys"] = [*known["Keys"], *rest["Keys"]]
    return {**answer, "UnprocessedKeys": keys}
