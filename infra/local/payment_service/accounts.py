"""The books as an auditor reads them: totals, and every intent with the order it names."""

import json
from typing import Any

from infra.local.payment_service.books import Books

# The metadata key under which an order's id is expected, unless another is asked for.
ORDER_KEY = "onsale_order"
LISTED_MAX = 100

_TOTALS = """
SELECT currency, status, COUNT(*) AS intents, SUM(captured) AS captured, SUM(refunded) AS refunded
FROM intents GROUP BY currency, status
"""
_TWICE = """
SELECT value AS order_id, COUNT(*) AS captured_intents
FROM intent_metadata JOIN intents ON intents.seq = intent_seq
WHERE key = ? AND captured > 0 GROUP BY value HAVING COUNT(*) > 1 ORDER BY value LIMIT ?
"""
_ORDERS = """
SELECT intents.*,
    (SELECT COUNT(*) FROM charges WHERE intent_id = intents.id AND status = 'succeeded') AS captures,
    (SELECT COUNT(*) FROM charges WHERE intent_id = intents.id AND status = 'failed') AS declines,
    (SELECT COUNT(*) FROM refunds WHERE intent_id = intents.id) AS refunds
FROM intents WHERE seq > ? ORDER BY seq LIMIT ?
"""


def totals(books: Books, order_key: str) -> dict[str, Any]:
    """Intents by state, money by currency, charges and events by state, orders captured more than once."""
    connection = books.connection
    by_state: dict[str, int] = {}
    money: dict[str, dict[str, int]] = {}
    for row in connection.execute(_TOTALS):
        by_state[row["status"]] = by_state.get(row["status"], 0) + row["intents"]
        sums = money.setdefault(row["currency"], {"captured_minor": 0, "refunded_minor": 0})
        sums["captured_minor"] += row["captured"]
        sums["refunded_minor"] += row["refunded"]
    twice = connection.execute(_TWICE, (order_key, LISTED_MAX)).fetchall()
    return {
        "intents": by_state,
        "money": money,
        "charges": _counts(books, "SELECT status AS word, COUNT(*) AS number FROM charges GROUP BY status"),
        "refunds": connection.execute("SELECT COUNT(*) AS number FROM refunds").fetchone()["number"],
        "events": _counts(books, "SELECT delivery AS word, COUNT(*) AS number FROM events GROUP BY delivery"),
        "orders_captured_twice": [dict(row) for row in twice],
    }


def orders(books: Books, order_key: str, after: int, limit: int) -> dict[str, Any]:
    """One page of intents in the order of creation; `next` continues it, or is null."""
    rows = books.connection.execute(_ORDERS, (after, limit + 1)).fetchall()
    shown = rows[:limit]
    data = []
    for row in shown:
        metadata = json.loads(row["metadata"])
        data.append(
            {
                "seq": row["seq"],
                "order_id": metadata.get(order_key),
                "payment_intent": row["id"],
                "status": row["status"],
                "amount_minor": row["amount"],
                "currency": row["currency"],
                "captured_minor": row["captured"],
                "refunded_minor": row["refunded"],
                "captures": row["captures"],
                "declines": row["declines"],
                "refunds": row["refunds"],
                "created_at_ms": row["created_at_ms"],
                "metadata": metadata,
            }
        )
    return {"orders": data, "next": shown[-1]["seq"] if len(rows) > limit else None}


def _counts(books: Books, sql: str) -> dict[str, int]:
    return {row["word"]: row["number"] for row in books.connection.execute(sql)}
