"""The whole system on one machine: API, workers, payment service and change pump, each a process of its own."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from infra.local.data_folder import DataFolder, Running
from infra.local.metric_files import empty_metrics
from infra.local.processes import Child, CouldNotStart, stop_all
from infra.usage import Usage

# What falls again and again, each time soon after its start, is started ever later.
FIRST_RESTART_S = 0.2
LONGEST_RESTART_S = 10.0
# A process that has run this long since it was ready is well again.
WELL_AFTER_S = 1.0
WALL = "partition limits"
TABLE_PREFIX = "onsale-local"
# One API process answers some hundreds of requests a second; most of that belongs to those who order.
READS_PER_S = 200


class PortTaken(Usage):
    """The port is taken; stop what uses it, or choose another one with --port (0 takes a free one)."""

    code = "port-taken"


@dataclass(frozen=True, slots=True)
class Plan:
    """What to start. Port 0 takes a free one; `payment_faults` are knobs of the payment service by name."""

    data: Path
    store: str = "sqlite"
    workers: int = 2
    host: str = "127.0.0.1"
    port: int = 0
    payment_port: int = 0
    log_level: str = "WARNING"
    table_prefix: str = TABLE_PREFIX
    payment_faults: Mapping[str, float] = field(default_factory=dict)
    reconcile_every_s: float | None = None
    partition_limits: float | None = None
    """DynamoDB's limits before the store, at this part of their size; none: as the emulator is, without any."""


@dataclass(slots=True)
class _Watch:
    child: Child
    falls: int = 0
    ready_since_s: float | None = None
    restart_at_s: float | None = None
    kept_down: bool = False


@dataclass(slots=True)
class System:
    """A running system; as a context manager it ends with its block, children first."""

    plan: Plan
    say: Callable[[str], None]
    running: Running | None = None
    restarts: int = 0
    _folder: DataFolder | None = None
    _emulator: object | None = None
    _watches: list[_Watch] = field(default_factory=list)

    def __enter__(self) -> Self:
        """Start everything."""
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop everything."""
        self.stop()

    @property
    def children(self) -> list[Child]:
        """All child processes."""
        return [watch.child for watch in self._watches]

    @property
    def workers(self) -> list[Child]:
        """The worker processes."""
        return [child for child in self.children if child.name.startswith("worker")]

    def start(self) -> Running:
        """Start everything and wait until all of it is ready; CouldNotStart, NotWritable, InUse or PortTaken."""
        try:
            self.running = self._start()
        except BaseException:
            self.stop()
            raise
        return self.running

    def take_down(self, name: str) -> None:
        """End a child without warning, and keep it down until it is brought back."""
        watch = self._watch(name)
        watch.kept_down = True
        watch.child.kill()

    def bring_back(self, name: str) -> None:
        """Start a child again that was taken down, and wait until it is ready."""
        watch = self._watch(name)
        watch.child.start()
        watch.child.wait_ready()
        watch.kept_down = False

    def _watch(self, name: str) -> _Watch:
        return next(watch for watch in self._watches if watch.child.name == name)

    def supervise(self) -> None:
        """Look after the children once: start again what has fallen, and say so. Call it a few times a second."""
        now_s = time.monotonic()
        for watch in self._watches:
            self._look_after(watch, now_s)

    def stop(self) -> None:
        """End the children: the door first, so that no order comes in that nobody works on."""
        stop_all([child for child in self.children if child.name == "API"])
        stop_all([child for child in self.children if child.name not in {"API", "payment service", WALL}])
        stop_all([child for child in self.children if child.name in {"payment service", WALL}])
        self._watches.clear()
        if self._emulator is not None:
            self._emulator.stop()  # type: ignore[attr-defined]
            self._emulator = None
        if self._folder is not None:
            self._folder.release()
            self._folder = None

    def _start(self) -> Running:
        plan = self.plan
        for port in (plan.port, plan.payment_port):
            _check_free(plan.host, port)
        folder = DataFolder(plan.data)
        folder.prepare()
        self._folder = folder
        empty_metrics(plan.data)
        dynamodb_url = self._start_emulator() if plan.store == "dynamodb" else None
        variables = {
            **folder.environment(),
            "ONSALE_STORE": plan.store,
            "ONSALE_LOG_LEVEL": plan.log_level,
            "ONSALE_TABLE_PREFIX": plan.table_prefix,
            "ONSALE_READS_PER_S": str(READS_PER_S),
        }
        if dynamodb_url is not None:
            if plan.partition_limits is not None:
                dynamodb_url = self._start_wall(dynamodb_url, plan.partition_limits, variables)
                variables["ONSALE_LIMITS_SCALE"] = str(plan.partition_limits)
            variables["ONSALE_DYNAMODB_URL"] = dynamodb_url
        server = ["infra.local.server", "--host", plan.host, "--port"]
        api = self._add("API", [*server, str(plan.port)], variables)
        url = _keep_port(api, server)
        payment = self._start_payment(folder, url, variables)
        variables["ONSALE_PAYMENT_URL"] = payment
        running = Running(url, payment, folder.secrets()["publishable_key"], os.getpid(), plan.store, dynamodb_url)
        folder.remember(running)
        for number in range(1, plan.workers + 1):
            self._add(f"worker {number}", ["infra.cli.main", "work", "--name", f"worker-{number}"], variables)
        self._add("change pump", ["infra.local.pump"], variables)
        if plan.reconcile_every_s is not None:
            every = ["--every", str(plan.reconcile_every_s)]
            self._add("reconciler", ["infra.cli.main", "reconcile", *every], variables)
        for child in self.children[2:]:
            child.wait_ready()
        return running

    def _start_payment(self, folder: DataFolder, url: str, variables: dict[str, str]) -> str:
        secrets = folder.secrets()
        keys = {
            "PAYMENT_SERVICE_API_KEY": secrets["payment_key"],
            "PAYMENT_SERVICE_PUBLISHABLE_KEY": secrets["publishable_key"],
            "PAYMENT_SERVICE_WEBHOOK_SECRET": secrets["webhook_secret"],
        }
        books = ["--data", str(folder.books(self.plan.store)), "--webhook-url", f"{url}/v1/webhooks/payments"]
        faults = [word for name, value in self.plan.payment_faults.items() for word in (_flag(name), str(value))]
        service = ["infra.local.payment_service", *books, *faults, "--host", self.plan.host, "--port"]
        child = self._add("payment service", [*service, str(self.plan.payment_port)], {**variables, **keys})
        return _keep_port(child, service)

    def _start_emulator(self) -> str:
        from infra.local.ministack import Ministack, create_local_tables  # noqa: PLC0415 - it imports boto3

        self.say("Starting DynamoDB on this machine (ministack); its data last as long as it runs.")
        emulator = Ministack()
        self._emulator = emulator
        if self._folder is not None:
            self._folder.forget_books(self.plan.store)
        create_local_tables(emulator.url, self.plan.table_prefix)
        return emulator.url

    def _start_wall(self, upstream: str, scale: float, variables: dict[str, str]) -> str:
        wall = ["infra.model.proxy", "--upstream", upstream, "--scale", str(scale), "--port"]
        url = _keep_port(self._add(WALL, [*wall, "0"], variables), wall)
        self.say(
            f"DynamoDB's limits, at {scale:g} of their size, stand at {url}; {url}/_truth tells what they refused."
        )
        return url

    def _add(self, name: str, arguments: list[str], variables: dict[str, str]) -> Child:
        log = self.plan.data / "logs" / f"{name.replace(' ', '-').lower()}.log"
        child = Child(name, arguments, dict(variables), log)
        child.start()
        self._watches.append(_Watch(child))
        return child

    def _look_after(self, watch: _Watch, now_s: float) -> None:
        child = watch.child
        if child.alive:
            if child.first_line and watch.ready_since_s is None:
                watch.ready_since_s = now_s
            return
        if watch.kept_down:
            return
        if watch.restart_at_s is None:
            if watch.ready_since_s is not None and now_s - watch.ready_since_s > WELL_AFTER_S:
                watch.falls = 0
            wait_s = min(LONGEST_RESTART_S, FIRST_RESTART_S * 2**watch.falls)
            watch.falls += 1
            watch.restart_at_s = now_s + wait_s
            self.say(f"{child.name} has ended ({_how(child.code)}); it starts again in {wait_s:.1f} s.")
        elif now_s >= watch.restart_at_s:
            watch.restart_at_s = None
            watch.ready_since_s = None
            self.restarts += 1
            child.start()


def _keep_port(child: Child, arguments: list[str]) -> str:
    """Wait until a server listens; started again it takes the same port. Return its address."""
    told = child.wait_ready()
    child.arguments = [*arguments, str(told["port"])]
    return str(told["url"])


def _flag(knob: str) -> str:
    return f"--{knob.replace('_', '-')}"


def _how(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _check_free(host: str, port: int) -> None:
    """Raise PortTaken when a given port cannot be listened on."""
    if port == 0:
        return
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, OverflowError) as error:
            raise PortTaken(
                f"Port {port} on {host} cannot be used ({getattr(error, 'strerror', error)}): stop what uses it, or "
                "choose another with --port (0 takes a free one)."
            ) from None


__all__ = ["CouldNotStart", "Plan", "PortTaken", "System"]
