"""Who may import whom, and who may lean on which outside package."""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import grimp
import pytest
from importlinter.cli import lint_imports
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
ROOMS = ("ingest", "consumers", "shared", "infra")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# Narrower than "what pyproject.toml names"; the longest prefix that fits a module counts.
PURE = {"shared.domain": {"iso4217", "msgspec"}, "shared.ports": {"msgspec"}}


def test_imports_run_one_way(capsys: pytest.CaptureFixture[str]) -> None:
    """Every contract on import directions in pyproject.toml is kept."""
    broken = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)

    assert not broken, capsys.readouterr().out


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_leans_only_on_declared_packages(room: str) -> None:
    """What runs on Lambda imports run-time dependencies only, infra the local ones too, the domain almost none."""
    graph = grimp.build_graph(
        *ROOMS, include_external_packages=True, exclude_type_checking_imports=True, cache_dir=None
    )
    modules = {room} | graph.find_descendants(room)
    undeclared = {
        f"{module} imports {package}"
        for module in modules
        for package in graph.find_modules_directly_imported_by(module)
        if graph.is_module_squashed(package)
        if package not in sys.stdlib_module_names and package not in _allowed(module)
    }

    assert not undeclared


def _allowed(module: str) -> set[str]:
    for prefix, packages in PURE.items():
        if module == prefix or module.startswith(f"{prefix}."):
            return packages
    declared = list(PROJECT["dependencies"])
    if module.partition(".")[0] == "infra":
        declared += PROJECT["optional-dependencies"]["local"]
    names = {canonicalize_name(Requirement(line).name) for line in declared}
    return {
        package
        for package, distributions in packages_distributions().items()
        if names & {canonicalize_name(distribution) for distribution in distributions}
    }
