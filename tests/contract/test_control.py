"""Sales, notices, members and the audit trail."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shared.domain.errors import NotFound
from shared.domain.sale import Pool, SaleStatus, TicketType, WhenShort
from shared.ports.control import AuditEntry, CheckReport, Member, Notice, PoolNotice, SaleView, Word
from shared.ports.store import Store
from tests.builders import make_sale

FULL_SALE = make_sale(
    name="Größte Show 🎤",
    pools=(Pool("floor", 1_000, 2), Pool("seats", 50)),
    ticket_types=(TicketType("standing", "Standing", "floor", 2_500), TicketType("free", "Guest", "seats", 0)),
    shard_counts=(16, 64),
    max_per_order=4,
    max_per_buyer=6,
    hold_ttl_s=120,
    accept_per_s=500,
    when_short=WhenShort.REJECT,
    fulfilment=True,
    status=SaleStatus.PAUSED,
    allocation_paused=True,
    version=3,
)


def notice(at_ms: int, *, waiting: int = 0) -> Notice:
    """Make a notice of the sale's one pool."""
    return Notice(
        at_ms=at_ms,
        pools={"floor": PoolNotice(Word.LAST, 1, sold_out=False)},
        waiting=waiting,
        head_ms=1_000 if waiting else None,
        newest_ms=2_000 if waiting else None,
        drained_per_s=12.5,
    )


@pytest.mark.parametrize("sale", [make_sale(), FULL_SALE], ids=["plain", "full"])
def test_a_created_sale_is_read_back_as_it_was(store: Store, sale: object) -> None:
    """Every field comes back, without a notice at first."""
    assert isinstance(sale, type(FULL_SALE))
    assert store.create_sale(sale) == sale
    assert store.get_sale(sale.event_id) == SaleView(sale, None)


def test_a_sale_is_created_once(store: Store) -> None:
    """A second one under its id meets the first."""
    first = make_sale()
    store.create_sale(first)

    assert store.create_sale(make_sale(name="Another")) == first
    assert store.get_sale("gig").sale == first


def test_an_unknown_sale_is_not_found(store: Store) -> None:
    """Neither before it is created, nor when only a longer id exists."""
    store.create_sale(make_sale(event_id="gig-2"))

    with pytest.raises(NotFound):
        store.get_sale("gig")


@pytest.mark.parametrize("event_id", ["", "x" * 3_000, "\ud800", "gig#sale", "日本"])
def test_what_no_sale_can_be_called_is_not_found(store: Store, event_id: str) -> None:
    """R13: whatever stands in the address, the answer is that there is no such sale."""
    store.create_sale(make_sale())

    with pytest.raises(NotFound):
        store.get_sale(event_id)


def test_a_sale_is_saved_over_the_version_that_was_seen(store: Store) -> None:
    """A repeated save counts as done, a late one does not."""
    sale = make_sale()
    store.create_sale(sale)
    paused = sale.changed(SaleStatus.PAUSED)
    closed = sale.changed(SaleStatus.CLOSED)

    assert store.save_sale(paused, seen_version=1)
    assert store.save_sale(paused, seen_version=1)
    assert not store.save_sale(closed, seen_version=1)
    assert store.get_sale("gig").sale == paused


def test_a_sale_that_was_never_created_cannot_be_saved(store: Store) -> None:
    """Nothing appears."""
    assert not store.save_sale(make_sale(version=2), seen_version=1)
    assert store.list_sales() == ()


def test_all_sales_are_listed_with_their_notices(store: Store) -> None:
    """By event id."""
    for event_id in ("b", "a-1", "a"):
        store.create_sale(make_sale(event_id=event_id))
    store.publish("a-1", notice(5_000))

    views = store.list_sales()

    assert [view.sale.event_id for view in views] == ["a", "a-1", "b"]
    assert [view.notice for view in views] == [None, notice(5_000), None]


def test_a_notice_is_replaced_by_a_newer_one_only(store: Store) -> None:
    """A late worker does not turn back what buyers see."""
    store.create_sale(make_sale())
    for at_ms, waiting in ((5_000, 3), (6_000, 4), (5_500, 9)):
        store.publish("gig", notice(at_ms, waiting=waiting))

    assert store.get_sale("gig").notice == notice(6_000, waiting=4)


def test_publishing_leaves_the_sale_alone(store: Store) -> None:
    """A notice changes no version."""
    sale = make_sale()
    store.create_sale(sale)
    store.publish("gig", notice(5_000))

    assert store.save_sale(sale.changed(SaleStatus.PAUSED), seen_version=1)
    assert store.get_sale("gig").notice == notice(5_000)


def test_members_show_their_last_beat(store: Store) -> None:
    """One entry a name."""
    ann, bob = Member("ann", "i-1", 1), Member("bob", "i-2", 1)
    for member in (ann, bob, replace(ann, beat=2)):
        store.beat(member)

    assert sorted(store.members(), key=lambda member: member.name) == [replace(ann, beat=2), bob]


def test_a_restarted_member_is_not_removed_by_its_predecessor(store: Store) -> None:
    """Only the incarnation that stands can leave; leaving twice is nothing."""
    old, new = Member("ann", "i-1", 7), Member("ann", "i-2", 1)
    store.beat(old)
    store.beat(new)

    store.leave(old)
    assert store.members() == (new,)
    for _ in range(2):
        store.leave(new)
    assert store.members() == ()


def test_the_audit_trail_shows_the_newest_first(store: Store) -> None:
    """As many as are asked for."""
    entries = [
        AuditEntry(at_ms, "ann@example.org", "sale.pause", "gig", "active", f"paused 🎟️ {at_ms}")
        for at_ms in (9, 10, 100)
    ]
    for entry in entries:
        store.audit(entry)

    assert store.list_audit(limit=2) == (entries[2], entries[1])
    assert store.list_audit(limit=100) == tuple(reversed(entries))


def test_a_repeated_audit_entry_counts_once(store: Store) -> None:
    """Two changes of one moment are two entries, the same one written twice is one."""
    first = AuditEntry(9, "ann", "refund", "1-a", "0", "100")
    for entry in (first, first, replace(first, subject="1-b")):
        store.audit(entry)

    assert len(store.list_audit(limit=10)) == 2


def test_a_check_keeps_its_newest_report(store: Store) -> None:
    """Each check has one report for each subject; an older run that ends late does not take its place."""
    gig = CheckReport("verify", "gig", 2_000, good=False, facts={"I1": "true", "I4": "false"})
    books = CheckReport("reconcile", "", 1_000, good=True, facts={})
    for report in (gig, books, replace(gig, at_ms=1_999, good=True)):
        store.note_check(report)

    assert list(store.list_checks()) == [books, gig]
    later = replace(gig, at_ms=2_001, good=True)
    store.note_check(later)
    assert later in store.list_checks()
