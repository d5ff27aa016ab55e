"""Stripe's search language, as far as payment intents need it: clauses joined by AND.

`metadata['order']:'x' AND status:'succeeded' AND created>1700000000`
Source: https://docs.stripe.com/search#search-query-language
"""

import re

from infra.local.payment_service.errors import ApiError, invalid
from infra.local.payment_service.queries import Filter, created_filter
from infra.local.payment_service.records import Status

CLAUSES_MAX = 10

_CLAUSE = re.compile(
    r"""\s*(?P<field>[a-z_]+)(?:\[(?P<quote>['"])(?P<key>(?:[^'"\\]|\\.)*)(?P=quote)\])?
        \s*(?P<op>:|>=|<=|>|<)\s*
        (?:'(?P<single>(?:[^'\\]|\\.)*)'|"(?P<double>(?:[^"\\]|\\.)*)"|(?P<number>[0-9]{1,15}))\s*""",
    re.VERBOSE,
)
_AND = re.compile(r"AND\s", re.IGNORECASE)


def search_filters(query: str) -> list[Filter]:
    """The conditions of a query; raises `ApiError` for what is not understood."""
    filters: list[Filter] = []
    position = 0
    while True:
        clause = _CLAUSE.match(query, position)
        if clause is None or len(filters) == CLAUSES_MAX:
            raise _not_understood(query)
        filters.append(_filter(clause))
        position = clause.end()
        if position == len(query):
            return filters
        joint = _AND.match(query, position)
        if joint is None:
            raise _not_understood(query)
        position = joint.end()


def _filter(clause: re.Match[str]) -> Filter:
    field, op = clause["field"], clause["op"]
    quoted = clause["single"] if clause["single"] is not None else clause["double"]
    value = clause["number"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
    if field == "metadata" and op == ":" and clause["key"] is not None:
        key = re.sub(r"\\(.)", r"\1", clause["key"])
        return Filter("seq IN (SELECT intent_seq FROM intent_metadata WHERE key = ? AND value = ?)", (key, value))
    if field in {"status", "currency"} and op == ":":
        if field == "status" and value not in set(Status):
            raise invalid(f"'{value}' is not a status of a payment intent.", param="query")
        return Filter(f"{field} = ?", (value.lower(),))
    if field in {"created", "amount"} and clause["number"] is not None:
        return _number_filter(field, op, int(value))
    raise _not_understood(clause.string)


def _number_filter(field: str, op: str, number: int) -> Filter:
    if field == "amount":
        return Filter(f"amount {'=' if op == ':' else op} ?", (number,))
    if op == ":":
        return Filter("created_at_ms BETWEEN ? AND ?", (number * 1000, number * 1000 + 999))
    return created_filter(op, number)


def _not_understood(query: str) -> ApiError:
    return invalid(f"We were unable to parse your search query: {query[:200]}", param="query")
