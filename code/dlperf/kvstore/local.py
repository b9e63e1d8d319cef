"""A whole cluster on this machine, for tests, for notebooks and for a first try."""

from __future__ import annotations

import os
import signal
import socket
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import count
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Self

import msgspec

from dlperf.kvstore import command, processes, scheduler, server  # what processes run: a page is stale when it changes
from dlperf.kvstore.config import Config

__all__ = ["Cluster", "config", "free_ports", "loopback", "scheduler", "server"]

LOWEST_PORT, PORTS = 10_000, 22_000
"""Below those from which Linux takes one for a connection that names none."""
_handed_out = count(64 * os.getpid())


def config(servers: int = 1, workers: int = 1, **options: Any) -> Config:
    """Returns a cluster on loopback, on ports that are free now; ``options`` are those of `Config`."""
    ports = free_ports(1 + 2 * servers)
    addresses = [f"{loopback()}:{port}" for port in ports]
    return Config(scheduler=addresses[0], servers=tuple(addresses[1::2]), workers=workers, **options)


def loopback() -> str:
    """Returns an address that only this machine reaches, and where Linux has 2²⁴ of them, only this process takes.

    So nobody else can take a port between the moment when it is found free and that in which it is listened on.
    """
    if sys.platform != "linux":
        return "127.0.0.1"
    return f"127.{os.getpid() >> 14 & 255}.{os.getpid() >> 6 & 255}.{(os.getpid() & 63) + 64}"


def free_ports(number: int) -> list[int]:
    """Returns so many ports in a row that nobody listens on, at `loopback`, and that this process was not given yet."""
    while True:
        ports = [LOWEST_PORT + next(_handed_out) % PORTS for _ in range(number)]
        if ports[-1] == ports[0] + number - 1 and all(map(_is_free, ports)):
            return ports


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        try:
            one.bind((loopback(), port))
        except OSError:
            return False
        return True


class Cluster(AbstractContextManager):
    """The scheduler and all servers of a configuration, each a process here; a context manager.

    `kill`, `pause` and `start` do to one what happens to machines. All end with the block, or with this process.
    With ``metrics`` the servers are asked by Prometheus on the ports of that name; ``more`` is told to each. Raises
    RuntimeError in a script where it does not stand under ``if __name__ == "__main__":``.
    """

    def __init__(self, config: Config, metrics: bool = False, more: Sequence[str] = ()) -> None:
        self.config, self.more = config, more
        self.metrics = free_ports(len(config.servers)) if metrics else []
        self.servers: list[BaseProcess | None] = [None] * len(config.servers)
        self.scheduler: BaseProcess | None = None
        self._begins: Connection | None = None

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="kvstore-")
        self.file = Path(self._folder.name) / "cluster.json"
        self.file.write_bytes(msgspec.json.encode(self.config))
        self.said = Path(self._folder.name) / "said"
        self.said.touch()
        begun, self._begins = Pipe(duplex=False)
        try:
            with begun, self._begins:
                started = [self.start_scheduler(), *map(self.start, range(len(self.servers)))]
                processes.wait_until_begun(started, begun)
        except BaseException:
            self.__exit__()
            raise
        self._begins = None
        return self

    def start_scheduler(self) -> BaseProcess:
        """Starts the scheduler's process, again if it has been killed."""
        self.scheduler = self._start("schedule")
        return self.scheduler

    def start(self, server: int) -> BaseProcess:
        """Starts a server's process, again if it has been killed."""
        more = ["--metrics", str(self.metrics[server])] if self.metrics else []
        process = self.servers[server] = self._start("serve", "--server", str(server), *more, *self.more)
        return process

    def _start(self, *words: str) -> BaseProcess:
        told = [*words, "--config", str(self.file)]
        return processes.start(command.main, told, said=self.said, begins=self._begins)

    def kill(self, server: int) -> None:
        """Ends a server's process at once, whatever it is at (SIGKILL)."""
        processes.end(self._process(server))

    def pause(self, server: int) -> None:
        """Stops a server's process (SIGSTOP), until `resume`."""
        self._signal(server, signal.SIGSTOP)

    def resume(self, server: int) -> None:
        self._signal(server, signal.SIGCONT)

    def stop(self, server: int) -> int:
        """Asks a server to leave (SIGTERM); returns its exit code when it has. Raises TimeoutError after a minute."""
        process = self._process(server)
        process.terminate()
        process.join(60)
        if process.exitcode is None:
            raise TimeoutError(f"server {server} has not left within a minute")
        return process.exitcode

    def _signal(self, server: int, number: signal.Signals) -> None:
        pid = self._process(server).pid
        assert pid is not None
        os.kill(pid, number)

    def _process(self, server: int) -> BaseProcess:
        process = self.servers[server]
        if process is None:
            raise ValueError(f"server {server} was not started")
        return process

    def words(self) -> str:
        """Returns what the processes have written."""
        return self.said.read_text(encoding="utf-8", errors="replace")

    def __exit__(self, *_: object) -> None:
        for process in (self.scheduler, *self.servers):
            if process is not None:
                processes.end(process)
        self._folder.cleanup()
