"""Children stop when they are asked to, however often, and end when their parent does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.e2e.house import wait_until_gone

WAITER = """
import sys
from infra.local.stopping import stop_on_signals
stop = stop_on_signals()
print("ready", flush=True)
while not stop.wait(0.001):
    pass
print("stopped", flush=True)
"""
# Ends only by SIGKILL, as a child does that hangs.
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('[1]', flush=True); time.sleep(600)"
PARENT = """
import sys, time
from pathlib import Path
from infra.local.processes import Child
child = Child("child", [sys.argv[1]], {"PYTHONPATH": sys.argv[2]}, Path(sys.argv[2]) / "log")
child.start()
child.wait_ready()
print(child.pid, flush=True)
time.sleep(600)
"""


def test_a_hail_of_signals_stops_a_process_once() -> None:
    """Signals within signals find no lock to wait for."""
    process = subprocess.Popen([sys.executable, "-c", WAITER], stdout=subprocess.PIPE, text=True)
    out = process.stdout
    assert out is not None
    assert out.readline() == "ready\n"

    for _ in range(200):
        os.kill(process.pid, signal.SIGTERM)

    assert process.wait(20) == 0
    assert out.read() == "stopped\n"
    out.close()


def test_a_child_ends_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    """SIGKILL on the parent ends the child, even one that does not hear when it is asked to stop."""
    for name, program in (("waiter", WAITER.replace("ready", "[1]")), ("deaf", DEAF)):
        (tmp_path / f"{name}.py").write_text(program)
        parent = subprocess.Popen(
            [sys.executable, "-c", PARENT, name, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        out = parent.stdout
        assert out is not None
        child = int(out.readline())

        parent.kill()
        parent.wait()
        out.close()

        assert wait_until_gone([child]) == [], name
