"""Lists and searches over the books: bounded pages, newest first, cut by cursors as Stripe cuts them."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from infra.local.payment_service.books import Books
from infra.local.payment_service.errors import invalid, missing
from infra.local.payment_service.params import Params, whole

PAGE_DEFAULT = 10
PAGE_MAX = 100

_COMPARE = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition in SQL with its values."""

    sql: str
    values: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """What part of a list is wanted."""

    limit: int
    starting_after: str | None = None
    ending_before: str | None = None


def read_page(params: Params) -> Page:
    """`limit`, `starting_after` and `ending_before`."""
    limit = params.integer("limit")
    after, before = params.text("starting_after"), params.text("ending_before")
    if limit is not None and not 1 <= limit <= PAGE_MAX:
        raise invalid(f"limit must be between 1 and {PAGE_MAX}.", param="limit")
    if after and before:
        raise invalid("You cannot use both starting_after and ending_before.", param="ending_before")
    return Page(limit or PAGE_DEFAULT, after, before)


def read_created(created: Mapping[str, str]) -> list[Filter]:
    """`created[gte]=…` and its kind, in whole seconds."""
    filters = []
    for word, text in created.items():
        if word not in _COMPARE:
            raise invalid(f"Received unknown parameter: created[{word}]", param="created", code="parameter_unknown")
        filters.append(created_filter(_COMPARE[word], whole(text, "created") or 0))
    return filters


def created_filter(compare: str, at_s: int) -> Filter:
    """A condition on the creation time, compared in whole seconds as Stripe stores it."""
    bounds = {
        ">": ("created_at_ms >= ?", at_s * 1000 + 1000),
        ">=": ("created_at_ms >= ?", at_s * 1000),
        "<": ("created_at_ms < ?", at_s * 1000),
        "<=": ("created_at_ms < ?", at_s * 1000 + 1000),
    }
    sql, at_ms = bounds[compare]
    return Filter(sql, (at_ms,))


def list_rows(books: Books, table: str, kind: str, page: Page, filters: list[Filter]) -> tuple[list[sqlite3.Row], bool]:
    """One page of a table (a constant of ours, never input), newest first, and whether more follow."""
    conditions = list(filters)
    backwards = page.ending_before is not None
    cursor = page.starting_after or page.ending_before
    if cursor is not None:
        at = books.connection.execute(f"SELECT created_at_ms, seq FROM {table} WHERE id = ?", (cursor,)).fetchone()  # noqa: S608
        if at is None:
            raise missing(kind, cursor, param="ending_before" if backwards else "starting_after", status=400)
        compare = ">" if backwards else "<"
        conditions.append(Filter(f"(created_at_ms, seq) {compare} (?, ?)", (at["created_at_ms"], at["seq"])))
    where = " AND ".join(["1", *(condition.sql for condition in conditions)])
    order = "created_at_ms, seq" if backwards else "created_at_ms DESC, seq DESC"
    values = [value for condition in conditions for value in condition.values]
    rows = books.connection.execute(
        f"SELECT * FROM {table} WHERE {where} ORDER BY {order} LIMIT ?",  # noqa: S608
        [*values, page.limit + 1],
    ).fetchall()
    shown = rows[: page.limit]
    return (shown[::-1] if backwards else shown), len(rows) > page.limit
