"""What a person reads on stderr, and what a program reads on stdout."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


WIDE = 160


@cache
def console() -> Console:
    """Return the console on stderr."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """Say a sentence to the person, never to the program."""
    console().print(text, markup=False, soft_wrap=True)


def put_json(value: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
    """Write data for a program."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def put_table(headings: Sequence[str], rows: Iterable[Sequence[Any]], *, title: str | None = None) -> None:
    """Write a table for a person, on stdout, for it is the data asked for."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False, show_header=any(headings))
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(escape("" if cell is None else str(cell)) for cell in row))
    # Piped, a table is not squeezed into the width of a terminal that nobody looks at.
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
    if title is not None:
        console.print(f"\n[bold]{escape(title)}[/bold]")
    console.print(table)


def put_facts(facts: dict[str, Any], *, title: str | None = None) -> None:
    """Write names and values, one a line, without those that are absent."""
    rows = [(name, _text(value)) for name, value in facts.items() if value is not None]
    put_table(("", ""), rows, title=title)


def _text(value: Any) -> str:  # noqa: ANN401 - whatever JSON can hold
    if isinstance(value, dict):
        return ", ".join(f"{name}: {part}" for name, part in value.items())
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
