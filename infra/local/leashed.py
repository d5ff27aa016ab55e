"""Runs a module as a child that ends when its parent does: `python -m infra.local.leashed MODULE ARGUMENTS…`.

On Linux the kernel asks the child to stop (prctl(2), PR_SET_PDEATHSIG), even if the parent is killed outright. A thread
looks once a second whether the parent is still the same: elsewhere it asks, and everywhere it ends the child that has
not stopped in time.
"""

from __future__ import annotations

import ctypes
import os
import runpy
import signal
import sys
import threading
import time

# The variable that names the parent, so that a child whose parent died before it could look knows.
PARENT = "ONSALE_PARENT"
_PR_SET_PDEATHSIG = 1
_LOOK_EVERY_S = 1.0
_STOP_WITHIN_S = 5.0


def hold_on_to_parent(parent: int) -> None:
    """Arrange for this process to end with `parent`."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    threading.Thread(target=_watch, args=(parent,), name="leash", daemon=True).start()
    # The parent may have gone before the leash was on.
    if os.getppid() != parent:
        sys.exit(0)


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_S)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_STOP_WITHIN_S)
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    """Put the leash on, then be the module."""
    hold_on_to_parent(int(os.environ.pop(PARENT)))
    module = sys.argv[1]
    sys.argv = sys.argv[1:]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
