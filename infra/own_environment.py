"""Environments of their own for programs whose libraries do not agree with ours; made once, from hashes.

`.venv-NAME` beside the sources, or the folder named by a variable; made again when its lock file has changed.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from shared.domain.errors import Unavailable


@dataclass(frozen=True, slots=True)
class OwnEnvironment:
    """One environment: what it is called, what it holds, and the variable that may name another place for it."""

    name: str
    lock: Path
    variable: str

    @property
    def folder(self) -> Path:
        """Where it is, or will be."""
        if os.environ.get(self.variable):
            return Path(os.environ[self.variable]).resolve()
        root = Path(__file__).parents[1]
        return (root if (root / "pyproject.toml").exists() else Path.cwd()) / f".venv-{self.name}"

    def python(self) -> Path:
        """Return its interpreter, after making it where that was not done yet; Unavailable with what to do."""
        folder = self.folder
        folder.mkdir(parents=True, exist_ok=True)
        python, stamp = folder / "bin" / "python", folder / ".stamp"
        with (folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # several test runs or commands may want it at the same moment
            if not stamp.exists() or stamp.read_bytes() != self.lock.read_bytes():
                self._make(folder, python)
                stamp.write_bytes(self.lock.read_bytes())
        return python

    def _make(self, folder: Path, python: Path) -> None:
        # Without pip of its own: a Python whose ensurepip is split off can make it all the same, and ours fills it.
        venv.EnvBuilder(with_pip=False, symlinks=True).create(folder)
        install = ["install", "--quiet", "--disable-pip-version-check", "--require-hashes", "--requirement"]
        done = subprocess.run(  # noqa: S603 - our own interpreter and arguments
            [sys.executable, "-m", "pip", "--python", str(python), *install, str(self.lock)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise Unavailable(
                f"{self.name} could not be installed into {folder}: check that PyPI can be reached, or name an "
                f"environment that has it in {self.variable}. pip said: {done.stderr.strip()[-300:]}"
            )
