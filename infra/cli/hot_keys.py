"""`onsale hot-keys`: who is hot, how evenly shards are used, what to do; and the bench of the counting itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from infra.cli.talk import console, put_facts, put_json, put_table, say
from infra.cli.where import DEFAULT_DATA, AsJson, Data

if TYPE_CHECKING:
    from shared.domain.stats.hot_keys import HotKeyReport, Ranking
    from shared.ports.stats import StatsStore


def hot_keys(
    seconds: Annotated[int, typer.Option(min=1, max=3600, help="How far back to look, in seconds.")] = 300,
    top: Annotated[int, typer.Option(min=1, max=100, help="How many names of each kind.")] = 20,
    data: Data = DEFAULT_DATA,
    as_json: AsJson = False,
) -> None:
    """Show the hottest keys, events and buyers of the last minutes, as counted from the stream of changes.

    A count may be too low by what stands beside the table's title, never too high. Buyers are shown by the subject of
    their token. Records that could not be read were not counted; they are listed.

    Examples: onsale hot-keys · onsale hot-keys --seconds 60 --top 5 --json
    """
    from shared.domain.stats.report_value import report_value
    from shared.hot_keys import look_at_hot_keys
    from shared.system import SystemClock

    clock = SystemClock()
    shards_of = _shards_of(data)
    stats = _open_stats(data)
    try:
        now_ms = clock.now_ms()
        report = look_at_hot_keys(stats, now_ms=now_ms, range_s=seconds, top=top, shards_of=shards_of)
    finally:
        stats.close()
    if as_json:
        put_json(report_value(report, now_ms))
    else:
        _show(report, now_ms)


def bench_hot_keys(
    records: Annotated[int, typer.Option(min=1, help="Stream records to count.")] = 1_000_000,
    buyers: Annotated[int, typer.Option(min=20, help="Buyers who make them.")] = 200_000,
    skew: Annotated[float, typer.Option(min=0, help="Exponent of Zipf's law; 0 is uniform.")] = 1.1,
    seed: Annotated[int, typer.Option(help="Makes the stream repeatable.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Count a made-up stream through the Lambda handler, and compare with an independent recount.

    Example: onsale bench hot-keys --json
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from infra.bench.hot_keys import figures_value, run

    columns = (TextColumn("count"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(), transient=True) as bar:
        task = bar.add_task("count", total=records)
        figures = run(
            records=records, buyers=buyers, skew=skew, seed=seed, progress=lambda count: bar.advance(task, count)
        )
    (put_json if as_json else put_facts)(figures_value(figures))


def _show(report: HotKeyReport, now_ms: int) -> None:
    if report.newest_ms is None:
        say("Nothing was counted in this time; is the stream's pump running?")
    else:
        age_s = max(0, now_ms - report.newest_ms) // 1000
        say(
            f"{report.writes:,} changes, {report.arrivals:,} orders, {report.stream_shards} stream shards; "
            f"newest window {age_s} s old."
        )
        for title, ranking in (("Keys", report.keys), ("Events", report.events), ("Buyers", report.buyers)):
            _show_ranking(title, ranking)
        rows = [
            (event_id, skew.shards, f"{skew.max_over_mean:.2f}", _p(skew.p_value), "uneven" if skew.uneven else "even")
            for event_id, skew in sorted(report.skew.items())
        ]
        put_table(("Event", "Shards", "Max / mean", "p (uniform)", ""), rows, title="Orders over the shards")
    for flag in report.flags:
        say(flag.sentence)
    for advice in report.advice:
        say(f"{advice.event_id}: {advice.because}")
        if advice.command is not None:
            say(f"  {advice.command}")
    if report.refused_total:
        say(f"{report.refused_total} records of the stream could not be read and were not counted:")
        put_table(
            ("Stream shard", "Sequence number", "Why"),
            [(one.stream_shard, one.sequence, one.why) for one in report.refused],
        )


def _show_ranking(title: str, ranking: Ranking) -> None:
    rows = [
        (hot.name, hot.writes, hot.arrivals, f"{hot.depth:+d}", f"{hot.share:.1%}{' !' * hot.above_share}")
        for hot in ranking.top
    ]
    missed = f" (at most {ranking.missed:,} too low)" if ranking.missed else ""
    put_table((title[:-1], "Writes", "Orders", "Line", "Share"), rows, title=f"{title}{missed}")


def _p(value: float | None) -> str:
    return "too few" if value is None else f"{value:.3g}"


def _shards_of(data: Path) -> dict[str, int]:
    """Ask the sales for their shard counts; NotFound when nothing was ever stored in the folder."""
    from infra.local.outside import open_folder_store
    from shared.system import SystemClock

    store = open_folder_store(data, SystemClock())
    try:
        return {view.sale.event_id: view.sale.shards for view in store.list_sales()}
    finally:
        store.close()


def _open_stats(data: Path) -> StatsStore:
    from infra.local.outside import folder_settings
    from shared.system import SystemClock
    from shared.wiring import open_stats

    return open_stats(folder_settings(data), SystemClock())
