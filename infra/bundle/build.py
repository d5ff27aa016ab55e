"""Builds the archive: locked wheels for a foreign platform, our own modules, bytecode, and the same bytes each time."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import source_from_cache
from pathlib import Path

from infra.bundle.bytecode import compile_modules, find_compiler
from infra.bundle.modules import ROOT, file_of, reachable
from shared.domain.errors import Unavailable

LOCK = ROOT / "requirements-lambda.lock"
# What Lambda calls; test_template holds this against the template.
ENTRIES = (
    "ingest.handler",
    "consumers.drain",
    "consumers.stream.handler",
    "consumers.stream.mark_bots",
    "consumers.reconcile.handler",
    "infra.verify.scheduled",
)
# One machine's store: Lambda keeps nothing on a disk.
WITHOUT = ("shared.stores.sqlite",)
PYTHON = "3.13"
PLATFORMS = {
    "arm64": ("manylinux2014_aarch64", "manylinux_2_28_aarch64"),
    "x86_64": ("manylinux2014_x86_64", "manylinux_2_28_x86_64"),
}
# Lambda's own runtime has these, in versions of its own choice.
AWS_LIBRARIES = ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "six", "urllib3")
# Of AWS's several hundred services, those that we speak to, and the one that lends credentials.
AWS_SERVICES = ("dynamodb", "secretsmanager", "sts")
_SERVICE = re.compile(r"^(?:botocore|boto3)/data/([^/]+)/")
_NEVER = re.compile(r"(^|/)(tests?|bin)(/|$)|\.dist-info/(RECORD|INSTALLER|REQUESTED|direct_url\.json)$|\.pyi$")
# The earliest time a zip file can hold: when a file was installed is nobody's business.
_WHEN = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Archive:
    """One finished archive."""

    path: Path
    files: int
    unpacked_bytes: int
    compiled: int

    @property
    def packed_bytes(self) -> int:
        """Return its size."""
        return self.path.stat().st_size

    @property
    def sha256(self) -> str:
        """Return the digest of its bytes."""
        return hashlib.sha256(self.path.read_bytes()).hexdigest()


def unpack(folder: Path, architecture: str | None, python: str = PYTHON) -> None:
    """Fill an empty folder with libraries and our modules; None is this machine. Unavailable when pip cannot fetch.

    Bytecode is added where this machine has a Python of the version, to compile with.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    install_libraries(folder, architecture, python)
    copy_modules(folder)
    compiler = sys.executable if architecture is None else find_compiler(python)
    if compiler is not None:
        compile_modules(folder, compiler)


def copy_modules(folder: Path) -> None:
    """Put our own modules into the folder."""
    for module in sorted(reachable(ENTRIES, without=WITHOUT)):
        source = file_of(module)
        target = folder / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def pack(folder: Path, path: Path, *, with_aws_libraries: bool) -> Archive:
    """Write a folder as an archive, whose bytes depend on the folder's names and contents only."""
    files = unpacked = compiled = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in _names(folder, with_aws_libraries=with_aws_libraries):
            info = zipfile.ZipInfo(name, _WHEN)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (0o755 if name.endswith(".so") else 0o644) << 16
            info.create_system = 3  # Unix, wherever it is built
            content = (folder / name).read_bytes()
            archive.writestr(info, content, compresslevel=9)
            files += 1
            unpacked += len(content)
            compiled += name.endswith(".pyc")
    return Archive(path, files, unpacked, compiled)


def _names(folder: Path, *, with_aws_libraries: bool) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        source = source_from_cache(name) if "__pycache__" in path.parts and path.suffix == ".pyc" else name
        top = re.split(r"[/.-]", source, maxsplit=1)[0].replace("python_dateutil", "dateutil")
        if path.is_file() and _belongs(source) and (with_aws_libraries or top not in AWS_LIBRARIES):
            yield name


def _belongs(name: str) -> bool:
    service = _SERVICE.match(name)
    return not _NEVER.search(name) and (service is None or service[1] in AWS_SERVICES)


def install_libraries(folder: Path, architecture: str | None, python: str = PYTHON) -> None:
    """Put the locked libraries into the folder; see `unpack`."""
    where: list[str] = []
    if architecture is not None:
        where = ["--python-version", python, "--implementation", "cp", "--only-binary", ":all:"]
        for platform in PLATFORMS[architecture]:
            where += ["--platform", platform]
    command = ["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-compile", "--require-hashes"]
    done = subprocess.run(  # noqa: S603 - our own arguments
        [sys.executable, "-m", "pip", *command, *where, "--target", str(folder), "--requirement", str(LOCK)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Unavailable(
            "The libraries could not be fetched: check that PyPI can be reached, and that requirements-lambda.lock "
            f"has wheels for this platform. pip said: {done.stderr.strip()[-400:]}"
        )
