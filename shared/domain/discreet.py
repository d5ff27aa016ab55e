"""Values that hold what no log and no traceback may show."""

from __future__ import annotations

from typing import Any, ClassVar

from msgspec import Struct


class Discreet(Struct, frozen=True):
    """A value that is written without the members named in `hidden`: secrets, and what people are called."""

    hidden: ClassVar[frozenset[str]]

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        """Return the members that may be seen, with their values."""
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if name not in self.hidden]

    def __repr__(self) -> str:
        """Write the members that may be seen."""
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"
