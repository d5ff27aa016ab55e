"""The lock files hold what pyproject.toml asks for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"^([\w.-]+)==([\w.+!]+)( ;| \\)", re.MULTILINE)


def _declared(*extras: str) -> list[Requirement]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text)
    project = document["project"]
    lines = project["dependencies"] + document["dependency-groups"]["build"]
    for extra in extras:
        lines += project["optional-dependencies"][extra]
    return [requirement for line in lines if (requirement := Requirement(line)).name != project["name"]]


def _pinned(lock: str) -> dict[str, set[str]]:
    pins: dict[str, set[str]] = {}
    for name, version, _ in PIN.findall((ROOT / lock).read_text(encoding="utf-8")):
        pins.setdefault(canonicalize_name(name), set()).add(version)
    return pins


@pytest.mark.parametrize(
    ("lock", "extras"), [("requirements.lock", ("local",)), ("requirements-dev.lock", ("local", "dev"))]
)
def test_a_lock_pins_every_declared_dependency(lock: str, extras: tuple[str, ...]) -> None:
    """Each dependency is pinned in the lock to versions that its specifier allows; else run `make lock`."""
    pins = _pinned(lock)
    wanting = [
        str(requirement)
        for requirement in _declared(*extras)
        if not pins.get(canonicalize_name(requirement.name))
        or not all(requirement.specifier.contains(version) for version in pins[canonicalize_name(requirement.name)])
    ]

    assert wanting == []


def test_what_runs_is_the_same_in_both_locks() -> None:
    """A developer tests with the very versions that a user runs."""
    run, dev = _pinned("requirements.lock"), _pinned("requirements-dev.lock")

    assert run
    assert {name: dev.get(name) for name in run} == run


def test_lambda_gets_a_part_of_what_is_tested() -> None:
    """Each library of the bundle is pinned as in the lock that people and tests install; run-time parts only."""
    run, bundle = _pinned("requirements.lock"), _pinned("requirements-lambda.lock")
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    declared = {canonicalize_name(Requirement(line).name) for line in tomllib.loads(text)["project"]["dependencies"]}

    assert declared <= set(bundle)
    assert {name: run.get(name) for name in bundle} == bundle
