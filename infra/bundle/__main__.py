"""`python -m infra.bundle` (make package): the archives for both architectures, their sizes, and a cold import.

`build/lambda.zip`, which the template names, is the archive for the architecture in ARCH (arm64 unless set).
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from infra.bundle.build import ENTRIES, PLATFORMS, PYTHON, Archive, pack, unpack
from infra.bundle.bytecode import find_compiler
from infra.bundle.modules import ROOT
from infra.usage import Usage
from shared.domain.errors import OnsaleError

BUILD = ROOT / "build"
MEGABYTE = 1_000_000
LIMITS_MB = {False: 15, True: 30}  # without and with the AWS libraries
COLD_IMPORTS = 3
# Loaded by the first call only, and by all of them.
STORE = "shared.stores.dynamo.store"


def main() -> int:
    """Build; returns the exit code."""
    wanted = os.environ.get("ARCH") or "arm64"
    try:
        if wanted not in PLATFORMS:
            raise Usage(f"ARCH must be one of {', '.join(PLATFORMS)}.")
        too_large = False
        for architecture in PLATFORMS:
            too_large |= not _build(architecture, use=architecture == wanted)
        _say(f"Loading each handler with the store, here and in Python {platform.python_version()}:")
        for entry, (compiled_s, bare_s) in cold_imports().items():
            _say(f"{entry}: {compiled_s:.2f} s with bytecode, {bare_s:.2f} s without")
        if find_compiler(PYTHON) is None:
            _say(
                f"THE ARCHIVES HAVE NO BYTECODE: no python{PYTHON}, the functions' version, runs from this PATH. They "
                "work, but every cold start compiles what it loads. Put one on the PATH and build again."
            )
    except OnsaleError as error:
        sys.stderr.write(f"{error.message}\n")
        return 2 if isinstance(error, Usage) else 5
    return 1 if too_large else 0


def cold_imports() -> dict[str, tuple[float, float]]:
    """Import each entry in a new process from a fresh copy, with the copy's bytecode and without any, in seconds.

    Both are the median of a few.
    """
    with tempfile.TemporaryDirectory(prefix="onsale-bundle-") as folder, tempfile.TemporaryDirectory() as nothing:
        unpack(Path(folder), None)
        return {
            entry: (_cold_import(entry, folder), _cold_import(entry, folder, bytecode=nothing)) for entry in ENTRIES
        }


def _cold_import(entry: str, folder: str, *, bytecode: str = "") -> float:
    environment = {"PATH": os.environ.get("PATH", os.defpath), "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"PYTHONPYCACHEPREFIX": bytecode} if bytecode else {}
    times = []
    for _ in range(COLD_IMPORTS):
        began = time.perf_counter()
        subprocess.run(  # noqa: S603 - our own interpreter and module
            [sys.executable, "-S", "-c", f"import {entry}, {STORE}"], env=environment, cwd=folder, check=True
        )
        times.append(time.perf_counter() - began)
    return sorted(times)[len(times) // 2]


def _build(architecture: str, *, use: bool) -> bool:
    """Build one architecture's archives; say whether they are small enough."""
    folder = BUILD / f"lambda-{architecture}"
    unpack(folder, architecture)
    small = True
    for with_aws, name in ((False, "without-boto3"), (True, "with-boto3")):
        archive = pack(folder, BUILD / f"lambda-{architecture}-{name}.zip", with_aws_libraries=with_aws)
        small &= _tell(archive, LIMITS_MB[with_aws])
        if with_aws and use:
            shutil.copyfile(archive.path, BUILD / "lambda.zip")
    return small


def _tell(archive: Archive, limit_mb: int) -> bool:
    fits = archive.packed_bytes <= limit_mb * MEGABYTE
    _say(
        f"{archive.path.relative_to(ROOT)}: {archive.packed_bytes / MEGABYTE:.2f} MB packed (at most {limit_mb}), "
        f"{archive.unpacked_bytes / MEGABYTE:.1f} MB unpacked, {archive.files} files ({archive.compiled} of bytecode), "
        f"sha256 {archive.sha256[:16]}" + ("" if fits else "; TOO LARGE")
    )
    return fits


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
