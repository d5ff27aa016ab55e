"""Every metric there is: its name, unit, meaning and alarm. Whatever shows or sends metrics is made from this list.

Labels have few values. What is one of many (an order, a buyer, an event, a shard) is never a label: each value would
be a metric of its own, and stand in places that outlive it. Reasons and codes are words of the program.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

NAMESPACE = "onsale"


class Kind(StrEnum):
    """How a metric moves."""

    COUNTER = "counter"
    """Only up, from 0 at the start of a process."""
    GAUGE = "gauge"
    """Up and down; the newest value counts."""
    TIMES = "times"
    """Durations, as a distribution."""


class Unit(StrEnum):
    """Units as CloudWatch calls them."""

    COUNT = "Count"
    SECONDS = "Seconds"


class Board(StrEnum):
    """Who looks at it: whoever sells, or whoever runs the machines."""

    BUSINESS = "business"
    MACHINE = "machine"


class Alarm(Struct, frozen=True):
    """Rings when the metric is above `above` over `minutes`: its sum if it is a counter, its maximum otherwise.

    With `share_of` the counter is divided by that counter first. `where` narrows it to one value of one label.
    `meaning` is for whoever is woken up, `look` is where to look first.
    """

    name: str
    above: float
    minutes: int
    meaning: str
    look: str
    share_of: str | None = None
    where: tuple[str, str] | None = None


class Metric(Struct, frozen=True):
    """One metric. `local` ones exist on one machine only: on AWS the service itself has their like."""

    name: str
    kind: Kind
    unit: Unit
    board: Board
    meaning: str
    labels: tuple[str, ...] = ()
    alarms: tuple[Alarm, ...] = ()
    local: bool = False


ORDERS = Metric(
    "orders",
    Kind.COUNTER,
    Unit.COUNT,
    Board.BUSINESS,
    "Orders asked for, by result: accepted, repeated, or the code of the refusal.",
    labels=("result",),
)
STEPS = Metric(
    "order_steps",
    Kind.COUNTER,
    Unit.COUNT,
    Board.BUSINESS,
    "Steps that workers took with orders: held, rejected, confirmed, expired, cancelled, refunded, parked, …",
    labels=("step",),
    alarms=(
        Alarm(
            "orders-parked",
            0,
            5,
            "An order was set aside for a person: it keeps its seats and its money until somebody decides.",
            "onsale parked list",
            where=("step", "parked"),
        ),
    ),
)
WAITING = Metric(
    "orders_waiting", Kind.GAUGE, Unit.COUNT, Board.BUSINESS, "Orders in line over all sales, as workers last said."
)
OLDEST_WAITING = Metric(
    "oldest_waiting_s",
    Kind.GAUGE,
    Unit.SECONDS,
    Board.BUSINESS,
    "How long the first order in any line has waited.",
    alarms=(
        Alarm(
            "line-stands-still",
            900,
            15,
            "The first in line has waited for a quarter of an hour: no worker takes it, or its seats are all held.",
            "onsale sale show EVENT, then the workers' logs",
        ),
    ),
)
MARKED = Metric(
    "buyers_marked", Kind.GAUGE, Unit.COUNT, Board.BUSINESS, "Buyers who order like programs and are slowed down."
)
REQUESTS = Metric(
    "requests",
    Kind.COUNTER,
    Unit.COUNT,
    Board.MACHINE,
    "Requests answered, by operation and HTTP status.",
    labels=("operation", "status"),
    alarms=(
        Alarm(
            "unexpected-answers",
            0,
            5,
            "The API answered 500: something happened that nobody foresaw.",
            "the log lines `request failed`, by correlation id",
            where=("status", "500"),
        ),
    ),
)
REQUEST_S = Metric(
    "request_s",
    Kind.TIMES,
    Unit.SECONDS,
    Board.MACHINE,
    "How long an answer took, by operation.",
    labels=("operation",),
)
ATTEMPTS = Metric(
    "store_attempts",
    Kind.COUNTER,
    Unit.COUNT,
    Board.MACHINE,
    "Attempts at the store, repeated ones included, by table, index and operation.",
    labels=("table", "index", "operation"),
)
THROTTLES = Metric(
    "store_throttles",
    Kind.COUNTER,
    Unit.COUNT,
    Board.MACHINE,
    "Attempts that the store refused for want of capacity, by table, index and the reason it gives.",
    labels=("table", "index", "reason"),
    alarms=(
        Alarm(
            "throttle-rate",
            0.01,
            5,
            "More than one attempt in a hundred was throttled: a key, a table or an account is at its limit.",
            "onsale throttles, then onsale hot-keys",
            share_of="store_attempts",
        ),
    ),
)
FIRST_ATTEMPT_S = Metric(
    "store_first_attempt_s",
    Kind.TIMES,
    Unit.SECONDS,
    Board.MACHINE,
    "How long the first attempt of a store call took, by call.",
    labels=("call",),
)
RETRYING_S = Metric(
    "store_retrying_s",
    Kind.TIMES,
    Unit.SECONDS,
    Board.MACHINE,
    "How long a store call went on after its first attempt, pauses included, by call; only calls that were repeated.",
    labels=("call",),
)
GIVEN_UP = Metric(
    "store_given_up",
    Kind.COUNTER,
    Unit.COUNT,
    Board.MACHINE,
    "Store calls that ended without an answer after all their attempts, by call and error code.",
    labels=("call", "code"),
    alarms=(
        Alarm(
            "store-given-up",
            100,
            5,
            "The store did not answer for so long that calls were given up: buyers are answered 503.",
            "onsale doctor, then onsale throttles",
        ),
    ),
)
WORKER_NOTES = Metric(
    "worker_notes",
    Kind.COUNTER,
    Unit.COUNT,
    Board.MACHINE,
    "What workers met besides orders' steps: lost races, services that did not answer, orders that cannot be read.",
    labels=("note",),
    alarms=(
        Alarm(
            "order-unreadable",
            0,
            5,
            "A stored order cannot be read: data and program disagree.",
            "the log lines `an order cannot be read`, then onsale verify",
            where=("note", "order_unreadable"),
        ),
    ),
)
PAYMENT_CALLS = Metric(
    "payment_calls",
    Kind.COUNTER,
    Unit.COUNT,
    Board.MACHINE,
    "Calls to the payment service, by call and outcome (`ok` or an error code).",
    labels=("call", "outcome"),
    alarms=(
        Alarm(
            "payment-unavailable",
            50,
            5,
            "The payment service does not answer: holds are neither charged nor released meanwhile.",
            "the payment service's status page; nothing is lost, what is due stays due",
            where=("outcome", "unavailable"),
        ),
    ),
)
PAYMENT_CALL_S = Metric(
    "payment_call_s",
    Kind.TIMES,
    Unit.SECONDS,
    Board.MACHINE,
    "How long a call to the payment service took.",
    labels=("call",),
)
PAYMENT_NOTICES = Metric(
    "payment_notices",
    Kind.COUNTER,
    Unit.COUNT,
    Board.MACHINE,
    "News that the payment service sent, by what became of it: stored, known, orphaned, foreign, irrelevant.",
    labels=("result",),
)
STREAM_RECORDS = Metric(
    "stream_records",
    Kind.COUNTER,
    Unit.COUNT,
    Board.MACHINE,
    "Records handed over by the stream, by result: taken, unreadable, or again (to be delivered again).",
    labels=("result",),
)
STREAM_REFUSED = Metric(
    "stream_refused",
    Kind.GAUGE,
    Unit.COUNT,
    Board.MACHINE,
    "Records of the stream that could not be read and are not counted in the statistics.",
    alarms=(
        Alarm(
            "stream-refused",
            0,
            5,
            "A record of the stream could not be read; hot keys and counts lack it, orders and money do not.",
            "onsale hot-keys lists them",
        ),
    ),
)
PAYMENT_SERVICE_ANSWERS = Metric(
    "payment_service_answers",
    Kind.COUNTER,
    Unit.COUNT,
    Board.MACHINE,
    "Answers of the payment service that runs on this machine, by HTTP status.",
    labels=("status",),
    local=True,
)
PROCESS_AGE_S = Metric(
    "process_age_s",
    Kind.GAUGE,
    Unit.SECONDS,
    Board.MACHINE,
    "How long ago each process of this machine wrote its figures down.",
    labels=("process",),
    local=True,
)

METRICS = (
    ORDERS,
    STEPS,
    WAITING,
    OLDEST_WAITING,
    MARKED,
    REQUESTS,
    REQUEST_S,
    ATTEMPTS,
    THROTTLES,
    FIRST_ATTEMPT_S,
    RETRYING_S,
    GIVEN_UP,
    WORKER_NOTES,
    PAYMENT_CALLS,
    PAYMENT_CALL_S,
    PAYMENT_NOTICES,
    STREAM_RECORDS,
    STREAM_REFUSED,
    PAYMENT_SERVICE_ANSWERS,
    PROCESS_AGE_S,
)
BY_NAME = {metric.name: metric for metric in METRICS}
ALARMS = tuple((metric, alarm) for metric in METRICS for alarm in metric.alarms)


def prometheus_name(metric: Metric) -> str:
    """Return the name by Prometheus' conventions: a prefix, base units spelled out, `_total` after counters.

    Source: "Metric and label naming", Prometheus documentation.
    """
    name = f"{NAMESPACE}_{metric.name}"
    if metric.unit is Unit.SECONDS:
        name = f"{name.removesuffix('_s')}_seconds"
    return f"{name}_total" if metric.kind is Kind.COUNTER else name
