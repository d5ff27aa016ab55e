"""A group that imports a command only when it is called, so that `onsale --help` answers at once."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command


class Entry(NamedTuple):
    """Where a command lives: `attribute` of `module` is a function or a `typer.Typer`."""

    module: str
    attribute: str
    help: str


class LazyGroup(TyperGroup):
    """Lists its commands from `entries`, and loads the one that is asked for."""

    entries: dict[str, Entry] = {}  # noqa: RUF012 - set once, by the class that is made from it

    def __init__(self, **attributes: Any) -> None:  # noqa: ANN401 - as the parent takes them
        super().__init__(**attributes)
        for name, entry in self.entries.items():
            self.add_command(TyperCommand(name=name, help=entry.help))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401 - typer's own types are private
        """Put the real command in the place of its line in the list."""
        entry = self.entries.get(args[0]) if args else None
        if entry is not None:
            self.add_command(load(args[0], entry), args[0])
        return super().resolve_command(ctx, args)


def load(name: str, entry: Entry) -> Any:  # noqa: ANN401 - typer's own types are private
    """Import a command."""
    found = getattr(importlib.import_module(entry.module), entry.attribute)
    if isinstance(found, typer.Typer):
        command = get_command(found)
    else:
        alone = typer.Typer(add_completion=False, rich_markup_mode="rich")
        alone.command(name)(found)
        command = get_command(alone)
    command.name = name
    for one in (command, *getattr(command, "commands", {}).values()):
        one.help = _unwrapped(one.help)
    return command


def _unwrapped(text: str | None) -> str | None:
    """Undo the line breaks of a docstring, which Typer keeps and then breaks once more; paragraphs stay."""
    return text and "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
