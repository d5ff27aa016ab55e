"""The data folder of one machine: where everything lives that must survive a restart, and where to find what runs.

`onsale.db` is the store, `payments.db` the payment service's books (each kind of store has its own), `secrets.json` the
keys that both sides share, `running.json` the addresses of the system that runs over this folder, `logs/` what its
processes said.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from infra.usage import Usage

DEFAULT = ".onsale"
SECRET_BYTES = 24


class NotWritable(Usage):
    """The data folder cannot be written; choose another one with --data."""

    code = "not-writable"


class InUse(Usage):
    """Another system runs over this data folder; stop it, or choose another folder with --data."""

    code = "in-use"


@dataclass(frozen=True, slots=True)
class Running:
    """What a client needs to know of the system that runs, or last ran, over a folder."""

    url: str
    payment_url: str
    publishable_key: str
    pid: int
    store: str
    dynamodb_url: str | None = None


class DataFolder:
    """One data folder."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._lock: IO[str] | None = None

    @property
    def logs(self) -> Path:
        """Where the processes' words go."""
        return self.path / "logs"

    def books(self, store: str) -> Path:
        """Where the payment service of a system over this store writes: money knows the orders of one store only."""
        return self.path / ("payments.db" if store == "sqlite" else f"payments-{store}.db")

    def forget_books(self, store: str) -> None:
        """Throw away the books of a store whose orders are gone; nobody could be paid back by them but in error."""
        for part in ("", "-wal", "-shm"):
            Path(f"{self.books(store)}{part}").unlink(missing_ok=True)

    def prepare(self) -> None:
        """Make the folder, take it for this process, draw its secrets; NotWritable or InUse with what to do."""
        try:
            self.logs.mkdir(parents=True, exist_ok=True)
            self._lock = (self.path / "lock").open("w", encoding="utf-8")
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._draw_secrets()
        except BlockingIOError:
            raise InUse(
                f"Another system already runs over {self.path}; stop it, or choose another folder with --data."
            ) from None
        except OSError as error:
            raise NotWritable(
                f"The data folder {self.path} cannot be written ({error.strerror}); choose another with --data."
            ) from None

    def release(self) -> None:
        """Let another process take the folder."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def secrets(self) -> dict[str, str]:
        """Return the keys that the parts of this machine share; empty before the first start."""
        return _read(self.path / "secrets.json")

    def remember(self, running: Running) -> None:
        """Write down where the system is to be found."""
        _write(self.path / "running.json", asdict(running))

    def running(self) -> Running | None:
        """Return where the system is, or last was, to be found; None when nothing ever ran here."""
        value = _read(self.path / "running.json")
        return Running(**value) if value else None

    def environment(self) -> dict[str, str]:
        """Return the variables that make a process part of this folder's system."""
        known = self.secrets()
        variables = {"ONSALE_DATA_DIR": str(self.path)}
        for name in ("payment_key", "tag_secret"):
            if name in known:
                variables[f"ONSALE_{name.upper()}"] = known[name]
        if "webhook_secret" in known:
            variables["ONSALE_WEBHOOK_SECRETS"] = known["webhook_secret"]
        running = self.running()
        if running is not None:
            variables |= {"ONSALE_STORE": running.store, "ONSALE_PAYMENT_URL": running.payment_url}
            if running.dynamodb_url is not None:
                variables["ONSALE_DYNAMODB_URL"] = running.dynamodb_url
        return variables

    def _draw_secrets(self) -> None:
        path = self.path / "secrets.json"
        if path.exists():
            return
        _write(
            path,
            {
                "payment_key": f"sk_test_{secrets.token_hex(SECRET_BYTES)}",
                "publishable_key": f"pk_test_{secrets.token_hex(SECRET_BYTES)}",
                "tag_secret": secrets.token_hex(SECRET_BYTES),
                "webhook_secret": f"whsec_{secrets.token_hex(SECRET_BYTES)}",
            },
        )


def _read(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _write(path: Path, value: dict[str, Any]) -> None:
    """Replace a file at once, readable by its owner only."""
    beside = path.with_suffix(".new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump(value, file, indent=2)
    beside.replace(path)


def empty_folder(path: Path) -> None:
    """Remove what an earlier run left in a folder; NotWritable when it holds anything that is not such a run's.

    A folder that a system still runs over is left alone: InUse.
    """
    if not path.exists() or not any(path.iterdir()):
        return
    if not (path / "secrets.json").exists():
        raise NotWritable(f"{path} holds other files; name an empty folder with --data.")
    folder = DataFolder(path)
    folder.prepare()
    folder.release()
    shutil.rmtree(path)
