"""Compiles the bundle: on Lambda nothing is written beside the code, and every cold start compiles what it loads."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from shared.domain.errors import Broken

# Where Lambda unpacks the archive: what tracebacks name, whichever folder this was compiled in.
TASK_ROOT = "/var/task"
_PATIENCE_S = 20


def find_compiler(python: str) -> str | None:
    """Return a Python of the version, such as `3.13`, on this machine; None when there is none that runs.

    Bytecode serves the version that wrote it, on every processor.
    """
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    named = (shutil.which(f"python{python}", path=folder) for folder in folders if folder)
    return next((path for path in (sys.executable, *named) if path is not None and _version(path) == python), None)


def compile_modules(folder: Path, compiler: str) -> None:
    """Write the bytecode of every module in the folder, the same bytes for the same sources and compiler.

    It is taken without a look at the source's date, which archives do not keep.
    """
    command = ["-S", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"]
    done = subprocess.run(  # noqa: S603 - a Python and our own arguments
        [compiler, *command, "-s", str(folder), "-p", TASK_ROOT, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env=_environment(),
    )
    if done.returncode != 0:
        raise Broken(f"A module of the bundle cannot be compiled: {done.stdout.strip()[-400:]}")


def _version(path: str) -> str:
    """Return the version that a Python says it is; nothing for what only stands for one that is not installed."""
    program = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run(  # noqa: S603 - found by a name that is ours
            [path, "-S", "-c", program],
            capture_output=True,
            text=True,
            check=False,
            env=_environment(),
            timeout=_PATIENCE_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip().rpartition("\n")[2] if done.returncode == 0 else ""


def _environment() -> Mapping[str, str]:
    """Return this environment without what steers a Python, but that sets stand in the same order each time."""
    return {**{name: value for name, value in os.environ.items() if name[:6] != "PYTHON"}, "PYTHONHASHSEED": "0"}
