"""The archive that goes to Lambda: always the same, small, and only what runs there."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.util import source_from_cache
from pathlib import Path

import pytest

from infra.bundle.build import ENTRIES, Archive, pack, unpack
from infra.bundle.bytecode import find_compiler
from infra.bundle.modules import reachable
from infra.local.stack import host_bundle

pytestmark = pytest.mark.timeout(240)
# Command line, server, charts, and the tools of those who develop.
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
NEVER = (
    "typer", "rich", "uvicorn", "uvloop", "starlette", "aiohttp", "matplotlib", "numpy", "jwt", "cryptography",
    "pytest", "moto", "hypothesis", "infra/cli", "infra/local", "infra/model", "shared/stores/sqlite", "tests",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the bundle for arm64, for the Python that this machine can compile for."""
    folder = tmp_path_factory.mktemp("bundle") / "arm64"
    unpack(folder, "arm64", HERE)
    return folder


@pytest.fixture(scope="module")
def with_aws(folder: Path) -> Archive:
    """Pack everything."""
    return pack(folder, folder.with_name("with.zip"), with_aws_libraries=True)


@pytest.fixture(scope="module")
def without(folder: Path) -> Archive:
    """Pack what Lambda's runtime does not have."""
    return pack(folder, folder.with_name("without.zip"), with_aws_libraries=False)


def test_two_builds_are_the_same_bytes(with_aws: Archive, tmp_path: Path) -> None:
    """Another folder, another moment, the same archive, bytecode included."""
    unpack(tmp_path / "again", "arm64", HERE)

    assert pack(tmp_path / "again", tmp_path / "again.zip", with_aws_libraries=True).sha256 == with_aws.sha256


def test_the_bundle_is_small_and_holds_what_runs(with_aws: Archive, without: Archive) -> None:
    """At most 15 MB without boto3 and 30 MB with it; every handler, its libraries for that processor, and no more."""
    names = zipfile.ZipFile(with_aws.path).namelist()

    assert without.packed_bytes <= 15_000_000
    assert with_aws.packed_bytes <= 30_000_000
    assert {f"{entry.replace('.', '/')}.py" for entry in ENTRIES} <= set(names)
    assert [name for name in names if name.startswith(NEVER)] == []
    assert {name.rsplit("-", 4)[-3] for name in names if name.endswith("linux-gnu.so")} == {"aarch64"}
    assert any(name.startswith("botocore/data/dynamodb/") for name in names)
    assert not any(name.startswith(("boto3/", "botocore/")) for name in zipfile.ZipFile(without.path).namelist())


@pytest.mark.parametrize("kind", ["with_aws", "without"])
def test_every_module_comes_with_its_bytecode(request: pytest.FixtureRequest, kind: str) -> None:
    """And bytecode with its module, for a traceback shows the source."""
    archive: Archive = request.getfixturevalue(kind)
    names = zipfile.ZipFile(archive.path).namelist()
    compiled = [name for name in names if name.endswith(".pyc")]

    assert {source_from_cache(name) for name in compiled} == {name for name in names if name.endswith(".py")}
    assert archive.compiled == len(compiled)


def test_bytecode_is_taken_without_a_look_at_the_source(without: Archive, tmp_path: Path) -> None:
    """An archive keeps no dates, and unpacking makes new ones: bytecode that is held against them would be useless."""
    zipfile.ZipFile(without.path).extractall(tmp_path)
    (tmp_path / "shared" / "domain" / "times.py").write_text("raise RuntimeError('compiled again')\n")

    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-I",
            "-c",
            f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import shared.domain.times",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "stands_there",
    [
        "",
        "no program",
        "#!/no/such/python3.99\n",
        "#!/bin/sh\necho python3.99: command not found >&2\nexit 127\n",
        f'#!/bin/sh\nexec {sys.executable} "$@"\n',
    ],
)
def test_what_is_not_the_functions_python_is_passed_over(
    stands_there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytecode of another version would be dead weight; the right Python may stand later on the path."""
    for name, text in (("first", stands_there), ("second", '#!/bin/sh\necho "$GREETING"; echo 3.99\n')):
        (tmp_path / name).mkdir()
        (tmp_path / name / "python3.99").write_text(text)
        (tmp_path / name / "python3.99").chmod(0o755)
    monkeypatch.setenv("GREETING", "A wrapper may want the environment, and talk.")

    monkeypatch.setenv("PATH", f"{tmp_path / 'first'}:/usr/bin:/bin")
    assert find_compiler("3.99") is None
    assert find_compiler(HERE) == sys.executable

    monkeypatch.setenv("PATH", f"{tmp_path / 'first'}:{tmp_path / 'second'}:/usr/bin:/bin")
    assert find_compiler("3.99") == str(tmp_path / "second" / "python3.99")


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
