"""Sales, notices, members and audit entries as stored items, in the one form that both stores keep.

Values are strings, whole numbers, lists and dictionaries only; what is absent is left out. Each has `pk` (the kind)
and `sk`; a store may put a sale and its notice under another `pk` of their own. The two are neighbours,
`EVENT#notice` before `EVENT#sale`, so that one query reads both; an event id never contains `#`.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from shared.domain.errors import Broken
from shared.domain.sale import Pool, Sale, SaleStatus, TicketType, WhenShort
from shared.domain.times import sortable_ms
from shared.ports.control import AuditEntry, CheckReport, GrantTurn, Member, Notice, PoolNotice, SaleView, Word

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shared.stores.items import Item

SALES = "sales"
MEMBERS = "members"
AUDIT = "audit"
CHECKS = "checks"


def sale_sk(event_id: str) -> str:
    """Return the sort key of a sale."""
    return f"{event_id}#sale"


def notice_sk(event_id: str) -> str:
    """Return the sort key of a sale's notice."""
    return f"{event_id}#notice"


def sale_item(sale: Sale) -> Item:
    """Write a sale; `version` is what writers put their condition on."""
    item: Item = {
        "pk": SALES,
        "sk": sale_sk(sale.event_id),
        "event_id": sale.event_id,
        "name": sale.name,
        "currency": sale.currency,
        "opens_at": sale.opens_at_ms,
        "closes_at": sale.closes_at_ms,
        "pools": [[pool.pool_id, pool.capacity, pool.slices] for pool in sale.pools],
        "types": [[kind.ticket_type_id, kind.name, kind.pool_id, kind.price_minor] for kind in sale.ticket_types],
        "salt": sale.salt.hex(),
        "shard_counts": list(sale.shard_counts),
        "max_per_order": sale.max_per_order,
        "max_per_buyer": sale.max_per_buyer,
        "hold_ttl_s": sale.hold_ttl_s,
        "accept_per_s": sale.accept_per_s,
        "when_short": str(sale.when_short),
        "fulfilment": int(sale.fulfilment),
        "status": str(sale.status),
        "allocation_paused": int(sale.allocation_paused),
        "version": sale.version,
    }
    return {name: value for name, value in item.items() if value is not None}


def read_sale(item: Item) -> Sale:
    """Read a sale back; Broken when the item is not one."""
    try:
        return Sale(
            event_id=item["event_id"],
            name=item["name"],
            currency=item["currency"],
            opens_at_ms=int(item["opens_at"]),
            closes_at_ms=int(item["closes_at"]),
            pools=tuple(Pool(pool_id, int(capacity), int(slices)) for pool_id, capacity, slices in item["pools"]),
            ticket_types=tuple(
                TicketType(kind, name, pool_id, int(price)) for kind, name, pool_id, price in item["types"]
            ),
            salt=bytes.fromhex(item["salt"]),
            shard_counts=tuple(int(count) for count in item["shard_counts"]),
            max_per_order=int(item["max_per_order"]),
            max_per_buyer=int(item["max_per_buyer"]) if "max_per_buyer" in item else None,
            hold_ttl_s=int(item["hold_ttl_s"]),
            accept_per_s=int(item["accept_per_s"]),
            when_short=WhenShort(item["when_short"]),
            fulfilment=bool(item["fulfilment"]),
            status=SaleStatus(item["status"]),
            allocation_paused=bool(item["allocation_paused"]),
            version=int(item["version"]),
        )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise _broken(item, "a sale", error) from error


def notice_item(event_id: str, notice: Notice) -> Item:
    """Write a sale's notice; `at` is what a writer compares. The pace is kept in thousandths: items hold no floats."""
    item: Item = {
        "pk": SALES,
        "sk": notice_sk(event_id),
        "event_id": event_id,
        "at": notice.at_ms,
        "pools": {pool_id: [str(part.word), part.round, int(part.sold_out)] for pool_id, part in notice.pools.items()},
        "waiting": notice.waiting,
        "head": notice.head_ms,
        "newest": notice.newest_ms,
        "drained_milli_per_s": round(notice.drained_per_s * 1000),
    }
    return {name: value for name, value in item.items() if value is not None}


def read_notice(item: Item) -> Notice:
    """Read a notice back; Broken when the item is not one."""
    try:
        return Notice(
            at_ms=int(item["at"]),
            pools={
                pool_id: PoolNotice(Word(word), int(round_no), bool(sold_out))
                for pool_id, (word, round_no, sold_out) in item["pools"].items()
            },
            waiting=int(item["waiting"]),
            head_ms=int(item["head"]) if "head" in item else None,
            newest_ms=int(item["newest"]) if "newest" in item else None,
            drained_per_s=int(item["drained_milli_per_s"]) / 1000,
        )
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        raise _broken(item, "a notice", error) from error


def read_views(items: Iterable[Item]) -> tuple[SaleView, ...]:
    """Join the items of the sales' part of the table, in any order, to sales with their notices, by event id.

    A notice without a sale is left out.
    """
    sales: dict[str, Sale] = {}
    notices: dict[str, Notice] = {}
    for item in items:
        event_id, kind = item["sk"].rsplit("#", 1)
        if kind == "sale":
            sales[event_id] = read_sale(item)
        else:
            notices[event_id] = read_notice(item)
    return tuple(SaleView(sale, notices.get(event_id)) for event_id, sale in sorted(sales.items()))


def grant_item(event_id: str, grant_no: int, turn: int, op: str) -> Item:
    """Write a grant item: each has a partition of its own, for they are written while the sale is at its hottest."""
    return {"pk": f"grant#{event_id}#{grant_no}", "sk": "grant", "turn": turn, "op": op}


def read_turn(item: Item, op: str) -> GrantTurn:
    """Read whose turn it is; Broken when the item is no grant."""
    try:
        return GrantTurn(int(item["turn"]), taken=item["op"] == op)
    except (KeyError, ValueError, TypeError) as error:
        raise _broken(item, "a grant", error) from error


def member_item(member: Member) -> Item:
    """Write a heartbeat under the member's name."""
    return {"pk": MEMBERS, "sk": member.name, "incarnation": member.incarnation, "beat": member.beat}


def read_member(item: Item) -> Member:
    """Read a heartbeat back; Broken when the item is not one."""
    try:
        return Member(item["sk"], item["incarnation"], int(item["beat"]))
    except (KeyError, ValueError, TypeError) as error:
        raise _broken(item, "a member", error) from error


def check_item(report: CheckReport) -> Item:
    """Write a check's report; `at` is what a writer compares."""
    return {
        "pk": CHECKS,
        "sk": f"{report.check}#{report.subject}",
        "check": report.check,
        "subject": report.subject,
        "at": report.at_ms,
        "good": int(report.good),
        "facts": dict(report.facts),
    }


def read_check(item: Item) -> CheckReport:
    """Read a check's report back; Broken when the item is not one."""
    try:
        return CheckReport(
            item["check"], item["subject"], int(item["at"]), good=bool(item["good"]), facts=dict(item["facts"])
        )
    except (KeyError, ValueError, TypeError) as error:
        raise _broken(item, "a check's report", error) from error


def audit_item(entry: AuditEntry) -> Item:
    """Write an audit entry under its time and a hash of its content, so that a repeated write is one entry."""
    content = [entry.who, entry.action, entry.subject, entry.before, entry.after]
    mark = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
    return {
        "pk": AUDIT,
        "sk": f"{sortable_ms(entry.at_ms)}#{mark}",
        "at": entry.at_ms,
        "who": entry.who,
        "action": entry.action,
        "subject": entry.subject,
        "before": entry.before,
        "after": entry.after,
    }


def read_audit(item: Item) -> AuditEntry:
    """Read an audit entry back; Broken when the item is not one."""
    try:
        return AuditEntry(int(item["at"]), item["who"], item["action"], item["subject"], item["before"], item["after"])
    except (KeyError, ValueError, TypeError) as error:
        raise _broken(item, "an audit entry", error) from error


def _broken(item: Item, what: str, error: Exception) -> Broken:
    return Broken(f"The stored item {item.get('pk')!r} / {item.get('sk')!r} is not {what}: {error!r}.")
