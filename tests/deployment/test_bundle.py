"""The archive that goes to Lambda: always the same, small, and only what runs there."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from infra.bundle.build import ENTRIES, pack, unpack
from infra.bundle.modules import reachable
from infra.local.stack import host_bundle

pytestmark = pytest.mark.timeout(240)
# Command line, server, charts, and the tools of those who develop.
NEVER = (
    "typer", "rich", "uvicorn", "uvloop", "starlette", "aiohttp", "matplotlib", "numpy", "jwt", "cryptography",
    "pytest", "moto", "hypothesis", "infra/cli", "infra/local", "infra/model", "shared/stores/sqlite", "tests",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the bundle for arm64."""
    folder = tmp_path_factory.mktemp("bundle") / "arm64"
    unpack(folder, "arm64")
    return folder


def test_two_builds_are_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    """Another folder, another moment, the same archive."""
    unpack(tmp_path / "again", "arm64")

    first = pack(folder, tmp_path / "first.zip", with_aws_libraries=True)
    second = pack(tmp_path / "again", tmp_path / "second.zip", with_aws_libraries=True)

    assert first.sha256 == second.sha256


def test_the_bundle_is_small_and_holds_what_runs(folder: Path, tmp_path: Path) -> None:
    """At most 15 MB without boto3 and 30 MB with it; every handler, its libraries for that processor, and no more."""
    without = pack(folder, tmp_path / "without.zip", with_aws_libraries=False)
    with_aws = pack(folder, tmp_path / "with.zip", with_aws_libraries=True)
    names = zipfile.ZipFile(with_aws.path).namelist()

    assert without.packed_bytes <= 15_000_000
    assert with_aws.packed_bytes <= 30_000_000
    assert {f"{entry.replace('.', '/')}.py" for entry in ENTRIES} <= set(names)
    assert [name for name in names if name.startswith(NEVER) or "__pycache__" in name] == []
    assert {name.rsplit("-", 4)[-3] for name in names if name.endswith("linux-gnu.so")} == {"aarch64"}
    assert any(name.startswith("botocore/data/dynamodb/") for name in names)
    assert not any(name.startswith(("boto3/", "botocore/")) for name in zipfile.ZipFile(without.path).namelist())


def test_handlers_import_with_nothing_but_the_bundle(folder: Path, tmp_path: Path) -> None:
    """With this machine's libraries in the place of arm64's, each handler is there."""
    host = tmp_path / "host"
    host_bundle(host)
    imports = f"[importlib.import_module(entry).handler for entry in {ENTRIES!r}]"
    program = f"import importlib; {imports}; import shared.stores.dynamo.store"

    done = subprocess.run(
        [sys.executable, "-S", "-I", "-c", f"import sys; sys.path.insert(0, {str(host)!r}); {program}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )

    assert done.returncode == 0, done.stderr


def test_modules_are_followed_into_functions() -> None:
    """What is imported inside a function is reached; what only type checkers import is not."""
    found = reachable(["shared.wiring"])

    assert "shared.stores.dynamo.store" in found
    assert "shared.stores.sqlite.store" in found
    assert "shared.stores.sqlite.store" not in reachable(["shared.wiring"], without=("shared.stores.sqlite",))
