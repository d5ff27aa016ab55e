"""Sales with their notices, members and the audit trail.

A sale and its notice share a partition of their own, so that one query reads both and one hot sale slows down no
other; the partition `sales` lists which there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.domain.errors import NotFound
from shared.ports.control import GrantTurn
from shared.stores.dynamo.base import Base
from shared.stores.dynamo.errors import Cancelled, ConditionFailed
from shared.stores.dynamo.expressions import check, put, query
from shared.stores.limits import check_asked_for
from shared.stores.records import (
    AUDIT,
    CHECKS,
    MEMBERS,
    SALES,
    audit_item,
    check_item,
    grant_item,
    member_item,
    notice_item,
    notice_sk,
    read_audit,
    read_check,
    read_member,
    read_sale,
    read_turn,
    read_views,
    sale_item,
    sale_sk,
)
from shared.stores.wire import Item, from_wire

if TYPE_CHECKING:
    from shared.domain.sale import Sale
    from shared.ports.control import AuditEntry, CheckReport, Member, Notice, SaleView

_ABSENT = "attribute_not_exists(#pk)"
KEEP_MEMBER_S = 86_400


class Control(Base):
    """Implements `ControlStore`."""

    def create_sale(self, sale: Sale) -> Sale:
        table = self._tables.control
        listed = {"pk": SALES, "sk": sale.event_id}
        actions = [{"Put": put(table, _at_home(sale_item(sale)), _ABSENT)}, {"Put": put(table, listed)}]
        try:
            self._calls.transact(actions)
        except Cancelled as cancelled:
            stored = cancelled.verdicts[0].item
            if stored is None:
                raise AssertionError("a failed attribute_not_exists returns the item") from None
            return read_sale(stored)
        return sale

    def get_sale(self, event_id: str) -> SaleView:
        check_asked_for(event_id)
        body = query(self._tables.control, "#pk = :pk", {"pk": _home(event_id)})
        items = self._read_partition({**body, "ConsistentRead": True})
        for view in read_views(items):
            return view
        raise NotFound("There is no sale of this id; check it, or list the sales.")

    def save_sale(self, sale: Sale, *, seen_version: int) -> bool:
        item = _at_home(sale_item(sale))
        try:
            self._calls.write("put_item", put(self._tables.control, item, "#version = :seen", {"seen": seen_version}))
        except ConditionFailed as failure:
            return failure.item == item
        return True

    def list_sales(self) -> tuple[SaleView, ...]:
        table = self._tables.control
        listed = self._read_partition({**query(table, "#pk = :pk", {"pk": SALES}), "ConsistentRead": True})
        keys = [
            {"pk": _home(entry["sk"]), "sk": sk}
            for entry in listed
            for sk in (sale_sk(entry["sk"]), notice_sk(entry["sk"]))
        ]
        return read_views(self._read_all(table, keys))

    def publish(self, event_id: str, notice: Notice) -> None:
        item = _at_home(notice_item(event_id, notice))
        condition = f"{_ABSENT} OR #at <= :at"
        try:
            self._calls.write("put_item", put(self._tables.control, item, condition, {"at": notice.at_ms}))
        except ConditionFailed:
            return

    def take_grant(self, event_id: str, grant_no: int, *, seen: int, op: str) -> GrantTurn:
        item = grant_item(event_id, grant_no, seen + 1, op)
        condition, values = ("#turn = :seen", {"seen": seen}) if seen else (_ABSENT, None)
        try:
            self._calls.write("put_item", put(self._tables.control, item, condition, values))
        except ConditionFailed as failure:
            return GrantTurn(0, taken=False) if failure.item is None else read_turn(failure.item, op)
        return GrantTurn(seen + 1, taken=True)

    def beat(self, member: Member) -> None:
        # Whoever left without a word is forgotten by the table's time to live; nobody's liveness depends on it.
        item = {**member_item(member), "expires_at": self._clock.now_ms() // 1000 + KEEP_MEMBER_S}
        self._calls.write("put_item", put(self._tables.control, item))

    def leave(self, member: Member) -> None:
        key = {"pk": MEMBERS, "sk": member.name}
        values = {"incarnation": member.incarnation}
        try:
            self._calls.write("delete_item", check(self._tables.control, key, "#incarnation = :incarnation", values))
        except ConditionFailed:
            return

    def members(self) -> tuple[Member, ...]:
        body = query(self._tables.control, "#pk = :pk", {"pk": MEMBERS})
        return tuple(read_member(item) for item in self._read_partition({**body, "ConsistentRead": True}))

    def note_check(self, report: CheckReport) -> None:
        item = check_item(report)
        condition = f"{_ABSENT} OR #at <= :at"
        try:
            self._calls.write("put_item", put(self._tables.control, item, condition, {"at": report.at_ms}))
        except ConditionFailed:
            return

    def list_checks(self) -> tuple[CheckReport, ...]:
        body = query(self._tables.control, "#pk = :pk", {"pk": CHECKS})
        return tuple(read_check(item) for item in self._read_partition(body))

    def audit(self, entry: AuditEntry) -> None:
        self._calls.write("put_item", put(self._tables.control, audit_item(entry)))

    def list_audit(self, *, limit: int) -> tuple[AuditEntry, ...]:
        body = query(self._tables.control, "#pk = :pk", {"pk": AUDIT})
        body |= {"ConsistentRead": True, "ScanIndexForward": False}
        entries: list[AuditEntry] = []
        while len(entries) < limit:
            answer = self._calls.read("query", {**body, "Limit": limit - len(entries)})
            entries += [read_audit(from_wire(item)) for item in answer["Items"]]
            if "LastEvaluatedKey" not in answer:
                break
            body["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        return tuple(entries)


def _home(event_id: str) -> str:
    return f"sale#{event_id}"


def _at_home(item: Item) -> Item:
    return {**item, "pk": _home(item["event_id"])}
