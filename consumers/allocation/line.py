"""One group's waiting orders, as its shards' indexes show them: merged by place, sorted by what they want.

Orders that want the same stand in one row. A row that nothing can be done for costs a pass nothing but its first
order, so a line of tens of thousands that waits for seats is as cheap as a short one.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from heapq import heappop, heappush, merge
from itertools import islice

from consumers.allocation.reader import Reader
from consumers.pace import REST_S, jittered
from consumers.tools import Tools
from shared.domain.errors import Unavailable
from shared.domain.order import Demand, WorkHint
from shared.domain.order_id import OrderKey

Shape = tuple[Demand, ...]
# One entry of a row; the number keeps two entries of one order apart and comparable.
_Entry = tuple[int, str, int, WorkHint]

# Hints of one group kept in memory; beyond it only those are kept that something can be done for.
MAX_KNOWN = 20_000
# A shard is read on when fewer of its orders are known than this.
LOW_WATER = 50
# The index may show an order for this long after it left the line.
SKIP_S = 10.0
# Pages of one shard in one reading, so that a head full of done work is passed.
MAX_PAGES = 8


class Line:
    """The waiting orders of some shards, oldest first."""

    def __init__(self, tools: Tools, event_id: str) -> None:
        """Begin with no shard; see `watch`."""
        self._tools = tools
        self._event_id = event_id
        self._readers: dict[int, Reader] = {}
        self._known: dict[int, dict[str, tuple[int, int]]] = {}
        self._rows: dict[Shape, list[_Entry]] = {}
        self._skip: dict[str, float] = {}
        self._skip_ends: list[tuple[float, str]] = []
        self._count = 0
        self._serial = 0
        self._found = 0

    # --- reading --------------------------------------------------------------------------------------------------

    def watch(self, shards: Sequence[int], *, idle_s: float) -> None:
        """Take up shards that are new to the group."""
        for shard in shards:
            if shard not in self._readers:
                self._readers[shard] = Reader(self._tools, self._event_id, shard, len(shards), idle_s)
                self._known[shard] = {}

    def read(self, decidable: Callable[[Shape], bool], *, hungry: bool) -> int:
        """Read the shards that are due, and those whose known orders run out; return how many orders are new.

        `hungry` reads on where a line is longer than what is known of it.
        """
        now_s = self._tools.clock.monotonic_s()
        self._forget_skips(now_s)
        self._found = 0
        for _ in range(MAX_PAGES):
            readers = [reader for reader in self._readers.values() if self._wants(reader, now_s, hungry=hungry)]
            if not readers:
                break
            for reader, hints in zip(readers, self._tools.fan_out_reads(_read_one, readers), strict=True):
                self._take(reader, hints, decidable, now_s)
            hungry = False
        if self._found:
            for reader in self._readers.values():
                reader.hurry(now_s)
        return self._found

    def _wants(self, reader: Reader, now_s: float, *, hungry: bool) -> bool:
        if reader.rests(now_s):
            return False
        if reader.at_end or reader.head_is_old(now_s):
            return reader.is_due(now_s)
        few = len(self._known[reader.shard]) < LOW_WATER and self._count < MAX_KNOWN
        return few or hungry

    def _take(
        self,
        reader: Reader,
        hints: tuple[WorkHint, ...] | Unavailable,
        decidable: Callable[[Shape], bool],
        now_s: float,
    ) -> None:
        if isinstance(hints, Unavailable):
            # Nothing grows here: a shard without orders is never served, and would be left alone ever longer.
            self._rest(reader, longer_each_time=False)
            return
        found = sum(self._add(reader, hint, decidable) for hint in hints)
        self._found += found
        reader.looked(now_s, found=found > 0)
        if reader.passed:
            self._drop_unseen(reader)

    def _add(self, reader: Reader, hint: WorkHint, decidable: Callable[[Shape], bool]) -> bool:
        order_id = hint.key.order_id
        known = self._known[reader.shard]
        before = known.get(order_id)
        if before is not None:
            known[order_id] = before[0], reader.passes
            return False
        if order_id in self._skip or (self._count >= MAX_KNOWN and not decidable(hint.demand)):
            return False
        self._serial += 1
        known[order_id] = self._serial, reader.passes
        self._count += 1
        row = self._rows.setdefault(hint.demand, [])
        entry = (hint.accepted_at_ms, order_id, self._serial, hint)
        if row and entry < row[-1]:
            insort(row, entry)
        else:
            row.append(entry)
        return True

    def _drop_unseen(self, reader: Reader) -> None:
        """Forget what a whole pass over the shard no longer showed: somebody else ended it."""
        known = self._known[reader.shard]
        for order_id in [order_id for order_id, (_, seen) in known.items() if seen < reader.passes]:
            del known[order_id]
            self._count -= 1

    # --- what is known --------------------------------------------------------------------------------------------

    def candidates(
        self, decidable: Callable[[Shape], bool], *, most: int, per_buyer: int | None = None
    ) -> list[WorkHint]:
        """Return up to `most` orders in line order.

        Of a row that is not `decidable` the first order only, for whom seats may be fetched; of one buyer not more
        than `per_buyer`. Orders of resting shards are left out.
        """
        now_s = self._tools.clock.monotonic_s()
        resting = {shard for shard, reader in self._readers.items() if reader.rests(now_s)}
        rows = []
        for shape in list(self._rows):
            self._trim(shape)
            if shape in self._rows:
                alive = self._alive(shape, resting)
                rows.append(alive if decidable(shape) else islice(alive, 1))
        entries: Iterable[_Entry] = merge(*rows)
        if per_buyer is not None:
            entries = _few_per_buyer(entries, per_buyer)
        return [entry[3] for entry in islice(entries, most)]

    def of_buyers(self, buyer_ids: Container[str], *, most: int) -> list[WorkHint]:
        """Return up to `most` known orders of these buyers."""
        rows = (self._alive(shape, set()) for shape in self._live_shapes())
        return list(islice((entry[3] for row in rows for entry in row if entry[3].buyer_id in buyer_ids), most))

    def settled(self, keys: Iterable[OrderKey], *, skip_s: float = SKIP_S) -> None:
        """Take orders out of the line, and do not believe the index if it shows them for a while yet."""
        until_s = self._tools.clock.monotonic_s() + skip_s
        for key in keys:
            if self._known[key.shard].pop(key.order_id, None) is not None:
                self._count -= 1
            self._readers[key.shard].troubles = 0
            self._skip[key.order_id] = until_s
            heappush(self._skip_ends, (until_s, key.order_id))

    def spare(self, shard: int) -> None:
        """Leave a shard to the door for a while, each time longer until one of its orders was served."""
        self._rest(self._readers[shard], longer_each_time=True)

    def _rest(self, reader: Reader, *, longer_each_time: bool) -> None:
        seconds = jittered(self._tools.ids, REST_S)
        reader.rest(self._tools.clock.monotonic_s(), seconds, longer_each_time=longer_each_time)
        self._tools.observe(self._event_id, "shard_spared", 1)

    @property
    def complete(self) -> bool:
        """Say whether every shard was read to its end."""
        return all(reader.at_end for reader in self._readers.values())

    @property
    def unread(self) -> list[int]:
        """Shards whose line goes on beyond what is known."""
        return [shard for shard, reader in self._readers.items() if not reader.at_end]

    def __len__(self) -> int:
        """How many waiting orders are known."""
        return self._count

    @property
    def wanted(self) -> dict[str, int]:
        """Seats that known orders want of each pool."""
        wanted: dict[str, int] = {}
        for shape in list(self._rows):
            self._trim(shape)
            row = self._rows.get(shape, [])
            for want in shape:
                wanted[want.pool_id] = wanted.get(want.pool_id, 0) + want.quantity * len(row)
        return wanted

    @property
    def head_ms(self) -> int | None:
        """When the oldest known order was taken."""
        return min((next(self._alive(shape, set()))[0] for shape in self._live_shapes()), default=None)

    @property
    def newest_ms(self) -> int | None:
        """When the newest known order was taken, nearly: an ended one at a row's end counts."""
        return max((self._rows[shape][-1][0] for shape in self._live_shapes()), default=None)

    def read_since(self, since_s: float) -> list[int]:
        """Return the shards that were read at this monotonic time or later."""
        return [shard for shard, reader in self._readers.items() if reader.read_at_s >= since_s]

    def next_read_s(self) -> float:
        """Return the monotonic time at which a shard is due."""
        return min((reader.next_s for reader in self._readers.values()), default=float("inf"))

    # --- rows -----------------------------------------------------------------------------------------------------

    def _live_shapes(self) -> list[Shape]:
        for shape in list(self._rows):
            self._trim(shape)
        return list(self._rows)

    def _is_alive(self, entry: _Entry) -> bool:
        known = self._known[entry[3].key.shard].get(entry[1])
        return known is not None and known[0] == entry[2]

    def _alive(self, shape: Shape, resting: set[int]) -> Iterator[_Entry]:
        return (entry for entry in self._rows[shape] if self._is_alive(entry) and entry[3].key.shard not in resting)

    def _trim(self, shape: Shape) -> None:
        """Cut ended orders off the row's front."""
        row = self._rows[shape]
        dead = 0
        for entry in row:
            if self._is_alive(entry):
                break
            dead += 1
        del row[:dead]
        if not row:
            del self._rows[shape]

    def _forget_skips(self, now_s: float) -> None:
        while self._skip_ends and self._skip_ends[0][0] <= now_s:
            _, order_id = heappop(self._skip_ends)
            if self._skip.get(order_id, now_s + 1) <= now_s:
                del self._skip[order_id]


def _read_one(reader: Reader) -> tuple[WorkHint, ...] | Unavailable:
    try:
        return reader.read()
    except Unavailable as error:
        return error


def _few_per_buyer(entries: Iterable[_Entry], most: int) -> Iterator[_Entry]:
    seen: dict[str, int] = {}
    for entry in entries:
        buyer_id = entry[3].buyer_id
        seen[buyer_id] = seen.get(buyer_id, 0) + 1
        if seen[buyer_id] <= most:
            yield entry
