"""Sales, notices, members and the audit trail in SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shared.domain.errors import Broken, NotFound
from shared.ports.control import GrantTurn
from shared.stores import records
from shared.stores.limits import check_asked_for, check_item
from shared.stores.sqlite.codec import decode, encode
from shared.stores.sqlite.part import Part

if TYPE_CHECKING:
    import sqlite3

    from shared.domain.sale import Sale
    from shared.ports.control import AuditEntry, CheckReport, Member, Notice, SaleView
    from shared.stores.items import Item

_ADD = "INSERT INTO control (pk, sk, version, item) VALUES (?, ?, ?, ?) ON CONFLICT (pk, sk) DO NOTHING"
# A later version takes the place of an earlier one, and of an equal one.
_PUT = (
    "INSERT INTO control (pk, sk, version, item) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (pk, sk) DO UPDATE SET version = excluded.version, item = excluded.item"
    " WHERE excluded.version >= version"
)
_GET = "SELECT item FROM control WHERE pk = ? AND sk = ?"
_GET_TWO = "SELECT item FROM control WHERE pk = ? AND sk IN (?, ?)"
_ALL = "SELECT item FROM control WHERE pk = ? ORDER BY sk"
_LAST = "SELECT item FROM control WHERE pk = ? ORDER BY sk DESC LIMIT ?"
_REMOVE = "DELETE FROM control WHERE pk = ? AND sk = ? AND json_extract(item, '$.incarnation') = ?"


class SqliteControl(Part):
    """The few items that every process reads, over one database."""

    def create_sale(self, sale: Sale) -> Sale:
        item = records.sale_item(sale)

        def put(connection: sqlite3.Connection) -> Sale:
            _write(connection, _ADD, item, sale.version)
            stored = _stored_sale(connection, sale.event_id)
            if stored is None:
                raise Broken
            return stored

        return self._database.write(put)

    def get_sale(self, event_id: str) -> SaleView:
        check_asked_for(event_id)
        keys = (records.SALES, records.sale_sk(event_id), records.notice_sk(event_id))
        views = records.read_views(self._items(_GET_TWO, *keys))
        if not views:
            raise NotFound("There is no sale of this id; check it, or list the sales.")
        return views[0]

    def save_sale(self, sale: Sale, *, seen_version: int) -> bool:
        item = records.sale_item(sale)

        def put(connection: sqlite3.Connection) -> bool:
            stored = _stored_sale(connection, sale.event_id)
            if stored is None or stored.version != seen_version:
                return stored == sale
            _write(connection, _PUT, item, sale.version)
            return True

        return self._database.write(put)

    def list_sales(self) -> tuple[SaleView, ...]:
        return records.read_views(self._items(_ALL, records.SALES))

    def publish(self, event_id: str, notice: Notice) -> None:
        item = records.notice_item(event_id, notice)
        self._database.write(lambda connection: _write(connection, _PUT, item, notice.at_ms))

    def take_grant(self, event_id: str, grant_no: int, *, seen: int, op: str) -> GrantTurn:
        item = records.grant_item(event_id, grant_no, seen + 1, op)

        def put(connection: sqlite3.Connection) -> GrantTurn:
            found = connection.execute(_GET, (item["pk"], item["sk"])).fetchone()
            stored = GrantTurn(0, taken=False) if found is None else records.read_turn(decode(found[0]), op)
            if stored.turn != seen:
                return stored
            _write(connection, _PUT, item, seen + 1)
            return GrantTurn(seen + 1, taken=True)

        return self._database.write(put)

    def beat(self, member: Member) -> None:
        item = records.member_item(member)
        self._database.write(lambda connection: _write(connection, _PUT, item, 0))

    def leave(self, member: Member) -> None:
        values = (records.MEMBERS, member.name, member.incarnation)
        self._database.write(lambda connection: connection.execute(_REMOVE, values))

    def members(self) -> tuple[Member, ...]:
        return tuple(records.read_member(item) for item in self._items(_ALL, records.MEMBERS))

    def note_check(self, report: CheckReport) -> None:
        item = records.check_item(report)
        self._database.write(lambda connection: _write(connection, _PUT, item, report.at_ms))

    def list_checks(self) -> tuple[CheckReport, ...]:
        return tuple(records.read_check(item) for item in self._items(_ALL, records.CHECKS))

    def audit(self, entry: AuditEntry) -> None:
        item = records.audit_item(entry)
        self._database.write(lambda connection: _write(connection, _ADD, item, 0))

    def list_audit(self, *, limit: int) -> tuple[AuditEntry, ...]:
        return tuple(records.read_audit(item) for item in self._items(_LAST, records.AUDIT, limit))

    def _items(self, query: str, *values: str | int) -> list[Item]:
        rows = self._database.read(lambda connection: connection.execute(query, values).fetchall())
        return [decode(text) for (text,) in rows]


def _write(connection: sqlite3.Connection, statement: str, item: Item, version: int) -> None:
    check_item(item)
    connection.execute(statement, (item["pk"], item["sk"], version, encode(item)))


def _stored_sale(connection: sqlite3.Connection, event_id: str) -> Sale | None:
    found = connection.execute(_GET, (records.SALES, records.sale_sk(event_id))).fetchone()
    return None if found is None else records.read_sale(decode(found[0]))
