"""Which workers live, and which of them does what, without anybody in charge.

Each worker writes a heartbeat and watches the others'. A member lives while its beat moves, by the observer's own
monotonic clock, so no two clocks are ever compared. Tasks are spread by rendezvous hashing: when a member comes or
goes only its own tasks move. Two workers that disagree for a moment waste work and change nothing, because every
write is conditional.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.domain.rendezvous import owner
from shared.ports.control import ControlStore, Member
from shared.ports.system import Clock

HEARTBEAT_S = 1.0
# A member whose beat stood still for this many heartbeat periods is gone.
MISSED_BEATS = 3


@dataclass(slots=True)
class Membership:
    """One worker among the others. `incarnation` tells a restarted name from its predecessor."""

    store: ControlStore
    clock: Clock
    name: str
    incarnation: str
    period_s: float = HEARTBEAT_S
    _beat: int = 0
    _next_s: float = float("-inf")
    _seen: dict[str, tuple[Member, float]] = field(default_factory=dict)

    def tick(self) -> bool:
        """Write the heartbeat and look at the others', if a period has passed; True when it did.

        Unavailable when the store does not answer; the next call tries again.
        """
        now_s = self.clock.monotonic_s()
        if now_s < self._next_s:
            return False
        self._beat += 1
        self.store.beat(self._me())
        members = self.store.members()
        self._next_s = now_s + self.period_s
        seen = {}
        for member in members:
            before, since_s = self._seen.get(member.name, (None, now_s))
            seen[member.name] = (member, since_s if member == before else now_s)
        self._seen = seen
        return True

    def live(self) -> tuple[str, ...]:
        """Return the names of all live members, in order; this one always lives."""
        now_s = self.clock.monotonic_s()
        patience_s = MISSED_BEATS * self.period_s
        others = {name for name, (_, since_s) in self._seen.items() if now_s - since_s < patience_s}
        return tuple(sorted(others | {self.name}))

    def owns(self, task_name: str) -> bool:
        """Say whether this worker is the one for a task."""
        return owner(task_name, self.live()) == self.name

    def leave(self) -> None:
        """Go without a gap: the others take over with their next look."""
        self.store.leave(self._me())

    def _me(self) -> Member:
        return Member(self.name, self.incarnation, self._beat)
