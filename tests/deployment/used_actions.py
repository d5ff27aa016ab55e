"""What each function of the stack does to AWS, read from its code: the store's methods it can reach, as actions."""

from __future__ import annotations

import re

from infra.bundle.modules import file_of, reachable

# (table, action) of every method of the ports; test_store_actions holds it against what a client really sends.
METHODS: dict[str, set[tuple[str, str]]] = {
    "accept": {("orders", "PutItem")},
    "get_order": {("orders", "GetItem")},
    "save": {("orders", "PutItem")},
    "due": {("orders/work", "Query")},
    "list_orders": {("orders", "Query")},
    "depth": {("orders/work", "Query")},
    "create_sale": {("control", "PutItem")},
    "get_sale": {("control", "Query")},
    "save_sale": {("control", "PutItem")},
    "list_sales": {("control", "Query"), ("control", "BatchGetItem")},
    "publish": {("control", "PutItem")},
    "take_grant": {("control", "PutItem")},
    "beat": {("control", "PutItem")},
    "leave": {("control", "DeleteItem")},
    "members": {("control", "Query")},
    "note_check": {("control", "PutItem")},
    "list_checks": {("control", "Query")},
    "audit": {("control", "PutItem")},
    "list_audit": {("control", "Query")},
    "open_inventory": {("inventory", "PutItem")},
    "get_pool": {("inventory", "BatchGetItem"), ("inventory", "GetItem")},
    "buyer_counts": {("inventory", "BatchGetItem")},
    "hold_batch": {("orders", "UpdateItem"), ("orders", "PutItem"), ("inventory", "UpdateItem")},
    "release": {("orders", "PutItem"), ("inventory", "UpdateItem")},
    "draw": {("inventory", "UpdateItem")},
    "give_back": {("inventory", "UpdateItem")},
    "change_pool": {("inventory", "UpdateItem")},
    "decide_sold_out": {("inventory", "UpdateItem"), ("inventory", "ConditionCheckItem")},
    "reopen_pool": {("inventory", "UpdateItem")},
    "get_window": {("stats", "GetItem")},
    "save_window": {("stats", "PutItem")},
    "read_windows": {("stats", "Query")},
    "get_stream_shard": {("stats", "GetItem")},
    "save_stream_shard": {("stats", "PutItem")},
    "list_stream_shards": {("stats", "Query")},
    "get_states": {("stats", "GetItem")},
    "save_states": {("stats", "PutItem")},
    "list_states": {("stats", "Query")},
    "mark_buyers": {("stats", "PutItem")},
    "list_marks": {("stats", "Query")},
    "note_progress": {("buyer-orders", "PutItem")},
    "progress_ms": {("buyer-orders", "Query")},
}
# Methods of the buyers' copies whose names others have too, as their callers write them.
COPIES = {r"\bcopies\.list_orders\b": ("buyer-orders", "Query"), r"\bstore\.put\b": ("buyer-orders", "PutItem")}

# The live frame is read from seats and counts, so it is served beside staff's screens, and cached at the edge.
STAFF_ROUTES = ("staff", "growth", "refunds", "figures", "hand_out", "parked", "queue", "console")
LIVE = ("ingest.live", "ingest.console")
BUYER_ROUTES = ("orders", "own_orders", "payment_attempts", "webhooks", "sales", "health", "docs")
_LOCAL = ("shared.stores.sqlite", "infra.local")


def used_actions(function: str) -> set[tuple[str, str]]:
    """Return the (table, action) pairs that a function's code can ask for."""
    found: set[tuple[str, str]] = set()
    for module in modules_of(function):
        if module.startswith(("shared.stores", "shared.ports", "shared.metering")):
            continue
        # Callers hold a store as `store`, `parts.store`, `self._store`, the statistics as `stats`.
        text = _without_strings(file_of(module).read_text(encoding="utf-8"))
        for pattern, pair in COPIES.items():
            if re.search(pattern, text):
                found.add(pair)
                text = re.sub(pattern, "", text)
        for method, pairs in METHODS.items():
            if re.search(rf"(?:store|stats|copies|control|\(\))\.{method}\b", text):
                found |= pairs
    return found


def modules_of(function: str) -> frozenset[str]:
    """Return the modules that a function of the stack runs; the two doors differ by their routes."""
    doors = {"IngestFunction": (BUYER_ROUTES, STAFF_ROUTES), "StaffFunction": (STAFF_ROUTES, BUYER_ROUTES)}
    if function in doors:
        mine, others = doors[function]
        without = ("ingest.api", *(f"ingest.routes.{name}" for name in others), *_LOCAL)
        if function == "IngestFunction":
            without = (*without, *LIVE)
        return reachable(["ingest.handler", *(f"ingest.routes.{name}" for name in mine)], without=without)
    without = (*_LOCAL, "consumers.stream.buyer_orders") if function == "MarkBotsFunction" else _LOCAL
    return reachable(
        [
            {
                "StreamFunction": "consumers.stream.handler",
                "MarkBotsFunction": "consumers.stream.mark_bots",
                "DrainFunction": "consumers.drain",
                "ReconcileFunction": "consumers.reconcile.handler",
                "VerifyFunction": "infra.verify.scheduled",
            }[function]
        ],
        without=without,
    )


def _without_strings(text: str) -> str:
    """Drop docstrings and comments, which may speak of methods that are not called."""
    return re.sub(r"#.*", "", re.sub(r'"""[\s\S]*?"""', "", text))
