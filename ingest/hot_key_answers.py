"""Hot keys as staff read them: the report of `shared.hot_keys`, in the same words as the command's JSON."""

from __future__ import annotations

from pydantic import Field

from ingest.responses import Answer
from shared.domain.stats.hot_keys import HotKeyReport
from shared.domain.stats.report_value import report_value


class HotAnswer(Answer):
    """One name among the hottest; the true number of writes lies between `writes` and `writes_at_most`."""

    name: str
    writes: int
    writes_at_most: int
    arrivals: int
    depth_change: int
    share: float
    above_share: bool = Field(description="Whether it takes more than a tenth of all writes.")


class RankingAnswer(Answer):
    """The hottest names of one kind, and by how much any count may be too low."""

    missed: int
    top: list[HotAnswer]


class SkewAnswer(Answer):
    """How evenly an event's orders fall on its shards."""

    shards: int
    orders: int
    max_over_mean: float
    chi_square: float
    p_value: float | None = Field(default=None, description="Of a test against uniform; absent with too few orders.")
    uneven: bool


class FlagAnswer(Answer):
    """A key design that makes one partition hot."""

    pattern: str
    key: str
    sentence: str


class AdviceAnswer(Answer):
    """What an event needs, why, and the command that does it."""

    event_id: str
    peak_units_per_s: float
    shards: int
    needed: int | None = None
    partitions: int
    because: str
    command: str | None = None


class UncountedAnswer(Answer):
    """A record of the stream that could not be read and was not counted."""

    stream_shard: str
    sequence: str
    why: str


class HotKeysAnswer(Answer):
    """What the stream of changes shows of a range of time; `age_ms` is absent when nothing was counted in it."""

    since_ms: int
    until_ms: int
    age_ms: int | None = None
    stream_shards: int
    writes: int
    arrivals: int
    changes: dict[str, int] = Field(description="Steps between statuses, `from>to`.")
    keys: RankingAnswer
    events: RankingAnswer
    buyers: RankingAnswer
    skew: dict[str, SkewAnswer]
    flags: list[FlagAnswer]
    advice: list[AdviceAnswer]
    refused: list[UncountedAnswer]
    refused_total: int


def hot_keys_answer(report: HotKeyReport, now_ms: int) -> HotKeysAnswer:
    """Write a report."""
    return HotKeysAnswer.model_validate(report_value(report, now_ms))
