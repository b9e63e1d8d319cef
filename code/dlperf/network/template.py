"""A process that has imported PyTorch, and forks whenever a network is made: its hosts need not import it again.

An import takes a second or more for each host, a fork some milliseconds. Forking is safe only for a process of one
thread, so this is all that it does.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from threading import Lock

from dlperf.forked import MODULES

NEEDED = ("pyroute2",)
"""What each switch and host imports; what hosts import if the program does is `dlperf.forked.MODULES`."""

_made: dict[int, Template] = {}
_lock = Lock()


class Template:
    """The program's end: it starts the process, which ends with the program, however that ends."""

    def __init__(self, modules: Sequence[str]) -> None:
        self.modules = modules
        self._near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        program = os.pidfd_open(os.getpid())
        told = json.dumps([far.fileno(), program, modules])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "dlperf.network", "template", told],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[far.fileno(), program],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            process_group=0,  # Ctrl-C is for the program
        )
        os.close(program)
        far.close()

    def alive(self) -> bool:
        """Returns whether the process has not ended."""
        return self._process.poll() is None

    def fork(self, files: Sequence[int]) -> None:
        """Has the process fork: the child gets these files, and does what `serve` was told."""
        socket.send_fds(self._near, [b"fork"], files)

    def end(self) -> None:
        """Ends the process, not its children."""
        self._near.close()
        self._process.kill()
        self._process.wait()


def current() -> Template:
    """Returns this program's template. One that lacks what the program has imported since is replaced."""
    with _lock:
        wanted = [*NEEDED, *(name for name in MODULES if name in sys.modules)]
        found = _made.get(os.getpid())  # a fork of the program has none yet
        if found is None or not found.alive() or set(wanted) - set(found.modules):
            if found:
                found.end()
            else:
                atexit.register(_end, os.getpid())
            _made[os.getpid()] = found = Template(wanted)
        return found


def _end(program: int) -> None:
    if program == os.getpid():
        _made.pop(program).end()


def serve(child: Callable[[list[int]], None], fileno: int, program: int, modules: Sequence[str]) -> None:
    """Imports modules, then calls ``child`` with the files that come, in a process of its own, until ``program`` ends.

    ``fileno`` is the socket on which files come; ``program`` a pidfd, which can be read from when that has ended.
    """
    for name in modules:
        with suppress(ImportError):  # whoever needs it will say so
            import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how children ended
    far = socket.socket(fileno=fileno)
    while True:
        ready, _, _ = select.select([far.fileno(), program], [], [])
        if program in ready:
            return
        message, files, _, _ = socket.recv_fds(far, 16, 16)
        if not message:
            return
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            far.close()
            os.close(program)
            run_and_exit(partial(child, files))
        for each in files:
            os.close(each)


def run_and_exit(body: Callable[[], None]) -> None:
    """Runs what a forked process is for, and ends it; what it raises is written to its standard error."""
    try:
        body()
    except OSError as error:
        print(error.strerror or error, file=sys.stderr, flush=True)
        os._exit(1)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)
