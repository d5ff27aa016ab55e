"""Whose turn it is: every event that has something to do, however many groups and shards the others have.

One hot sale must not starve the small ones: of all that is due, the event goes first that was served longest ago, and
of its own the part that was served longest ago. The idea is that of fair queues in Amazon SQS: a noisy tenant waits for
its neighbours, not they for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from consumers.tasks import GroupTask, ShardTask

Task = GroupTask | ShardTask


@dataclass(slots=True)
class Turns:
    """Remembers who was served when, by a count of turns."""

    _count: int = 0
    _events: dict[str, int] = field(default_factory=dict)
    _tasks: dict[Task, int] = field(default_factory=dict)

    def next(self, due: Iterable[GroupTask]) -> GroupTask | None:
        """Take the next turn for one of these tasks; None when there is none."""
        task = min(due, key=lambda one: (self._events.get(one.event_id, 0), self._tasks.get(one, 0)), default=None)
        if task is not None:
            self._count += 1
            self._events[task.event_id] = self._tasks[task] = self._count
        return task

    def forget(self, tasks: Iterable[GroupTask]) -> None:
        """Forget tasks that somebody else does now."""
        for task in tasks:
            self._tasks.pop(task, None)


def least_busy_first(
    shards: Iterable[ShardTask], under_way: Mapping[str, int], due_s: Callable[[ShardTask], float]
) -> list[ShardTask]:
    """Return the shards of events with the fewest orders under way first, and of one event those due earliest."""
    return sorted(shards, key=lambda task: (under_way.get(task.event_id, 0), due_s(task)))
