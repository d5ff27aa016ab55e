"""Which of our modules a set of entries can reach, found by reading their imports, those inside functions included."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("ingest", "consumers", "shared", "infra")


def reachable(entries: Iterable[str], *, without: Collection[str] = ()) -> frozenset[str]:
    """Return the modules that `entries` import, directly or not, themselves included.

    What lies in a package of `without` is left out, and so is what only it needs.
    """
    found: set[str] = set()
    waiting = list(entries)
    while waiting:
        module = waiting.pop()
        if module in found or any(module == name or module.startswith(f"{name}.") for name in without):
            continue
        found.add(module)
        waiting.extend(imports_of(module))
    return frozenset(found)


def imports_of(module: str) -> Iterator[str]:
    """Name our own modules that a module imports, and the packages it lies in."""
    parts = module.split(".")
    yield from (".".join(parts[:length]) for length in range(1, len(parts)))
    for node in _importing(ast.parse(file_of(module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            base = node.module or ""
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        yield from (name for name in names if name.split(".")[0] in ROOMS and _exists(name))


def file_of(module: str) -> Path:
    """Return the file of one of our modules."""
    path = ROOT.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _importing(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """Walk to every import that can run; those under TYPE_CHECKING cannot."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            waiting.extend(node.orelse)
        else:
            waiting.extend(ast.iter_child_nodes(node))


def _exists(module: str) -> bool:
    return file_of(module).is_file()
