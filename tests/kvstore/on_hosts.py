"""Servers on the hosts of a network, to which harm is done as to machines: processes end and stop, links are cut.

On each server's host a thread waits for orders, at a Unix socket in a folder that all hosts see, and starts, kills,
stops and goes on with its processes. It also makes another host unreachable: what is sent there goes to a network card
that nobody has, so neither end is told, as if a cable were cut between these two and no others.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Client, Listener
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec

from dlperf.kvstore import Config, connect, security
from dlperf.network import INTERFACE, Network, address
from dlperf.servers import goodput, hosts
from tests.kvstore.busy import PLACES, Busy
from tests.processes import DEADLINE_S, wait_until

SERVERS, WORKERS = 3, 2
NOBODY = "02:00:00:00:00:99"
"""A network card that no host has."""


@dataclass(frozen=True)
class Fault:
    """What happens to a server, or to all (``scheduler``), and how many seconds pass until it is over."""

    what: str
    server: int
    other: int
    seconds: float


KINDS = ("kill", "pause", "scheduler", "cut host", "cut pair")


def schedule(seed: int, faults: int, kinds: tuple[str, ...] = KINDS) -> list[Fault]:
    """Returns so many faults, drawn from a seed; each kind comes once before any comes again."""
    chance, drawn = random.Random(seed), list[Fault]()
    while len(drawn) < faults:
        for what in chance.sample(kinds, len(kinds)):
            server, other = chance.sample(range(SERVERS), 2)
            if what == "cut host":
                server = chance.randrange(SERVERS + WORKERS)
            drawn.append(Fault(what, server, other, round(chance.uniform(0.1, 6.0), 2)))
    return drawn[:faults]


# On a host.


def begin(rank: int, told: bytes, folder: str) -> None:
    """Starts a host's server, the scheduler beside the first, and the thread that takes orders."""
    from dlperf.kvstore import command, server  # noqa: F401 (before processes are forked)

    if rank < SERVERS:
        Host(rank, told, Path(folder))


class Host:
    """A host's processes, and the thread that does to them what it is told."""

    def __init__(self, rank: int, told: bytes, folder: Path) -> None:
        self.rank, self.told = rank, told
        self.processes: dict[str, BaseProcess] = {}
        listener = Listener(str(folder / f"host-{rank}"))
        Thread(target=self._listen, args=(listener,), daemon=True).start()

    def _listen(self, listener: Listener) -> None:
        while True:
            with listener.accept() as line:
                try:
                    getattr(self, f"do_{line.recv()}")(*line.recv())
                    line.send("")
                except BaseException as error:
                    line.send(repr(error))

    def do_start(self, which: str) -> None:
        program, args = {
            "server": (hosts._serve, (self.told, self.rank)),
            "scheduler": (hosts._schedule, (self.told,)),
        }[which]
        process = self.processes[which] = get_context("fork").Process(target=program, args=args, daemon=True)
        process.start()

    def do_kill(self, which: str) -> None:
        self.processes[which].kill()
        self.processes[which].join()

    def do_signal(self, which: str, number: int) -> None:
        pid = self.processes[which].pid
        assert pid is not None
        os.kill(pid, number)

    def do_lives(self, which: str) -> None:
        assert self.processes[which].exitcode is None, f"{which} of host {self.rank} has ended by itself"

    def do_cut(self, other: int) -> None:
        from pyroute2 import IPRoute

        with IPRoute() as ip:
            (interface,) = ip.link_lookup(ifname=INTERFACE)
            ip.neigh("replace", dst=address(other), lladdr=NOBODY, ifindex=interface, state="permanent")

    def do_mend(self, other: int) -> None:
        from pyroute2 import IPRoute

        with IPRoute() as ip:
            (interface,) = ip.link_lookup(ifname=INTERFACE)
            ip.neigh("del", dst=address(other), lladdr=NOBODY, ifindex=interface)


def work(rank: int, told: bytes, folder: str, pause: float) -> Any:
    """Returns what a worker added and read until there was a file named stop; meanwhile it says how far it is."""
    worker, config = rank - SERVERS, msgspec.json.decode(told, type=Config)
    if worker < 0:
        return None
    import torch

    with connect(config, worker) as store:
        store.create("k", torch.zeros(PLACES, dtype=torch.uint8))
        busy = Busy(store, range(worker, PLACES, WORKERS), worker, pause)
        while not (Path(folder) / "stop").exists() and busy.thread.is_alive():
            view = store.view
            whole = all(len(chain) == config.copies and view.is_up(r) for r, chain in enumerate(view.chains))
            write(Path(folder) / f"worker-{worker}", json.dumps([view.epoch, whole, len(busy.additions)]))
            time.sleep(0.02)
        busy.stop()
        begin = time.monotonic()
        busy.read(begin, store.pull("k"))
        return busy.additions, busy.reads


def write(path: Path, text: str) -> None:
    path.with_suffix(".part").write_text(text)
    path.with_suffix(".part").replace(path)


# Outside.


class Hosts:
    """A cluster on hosts, with workers that push and read all the time, as seen by who does harm to it."""

    def __init__(self, network: Network, folder: Path, config: Config) -> None:
        self.network, self.folder, self.config = network, folder, config
        self.workers: Future[list[Any]] | None = None

    def order(self, host: int, what: str, *told: Any) -> None:
        with Client(str(self.folder / f"host-{host}")) as line:
            line.send(what)
            line.send(told)
            assert line.poll(DEADLINE_S), f"host {host} does not {what}"
            if said := line.recv():
                raise RuntimeError(f"host {host}, told to {what} {told}: {said}")

    def told(self, worker: int) -> tuple[int, bool, int]:
        """Returns the epoch that a worker knows, whether all ranges have their copies, and its acknowledged pushes."""
        path = self.folder / f"worker-{worker}"
        epoch, whole, acknowledged = json.loads(path.read_text()) if path.exists() else (0, False, 0)
        return epoch, whole, acknowledged

    def until(self, condition: Callable[[], bool]) -> None:
        """Returns when something is so; raises what a worker has failed of, if one did meanwhile."""
        assert self.workers is not None
        ended = self.workers.done
        assert wait_until(lambda: ended() or condition()), [self.told(worker) for worker in range(WORKERS)]
        if ended():
            self.workers.result()
            raise AssertionError("the workers have ended before they were told to")

    def suffer(self, fault: Fault) -> None:
        """Does harm, ends it, and returns when every worker goes on and every range has its copies."""
        for server in range(SERVERS):
            self.order(server, "lives", "server")
        undo = self.harm(fault)
        time.sleep(fault.seconds)
        undo()
        before = [self.told(worker)[2] for worker in range(WORKERS)]
        for worker in range(WORKERS):
            self.until(lambda worker=worker: self.told(worker)[2] > before[worker] and self.told(worker)[1])  # type: ignore[misc]

    def harm(self, fault: Fault) -> Callable[[], None]:
        """Does harm; returns what ends it."""
        server, other = fault.server, fault.other
        match fault.what:
            case "kill":
                self.order(server, "kill", "server")
                return lambda: self.order(server, "start", "server")
            case "pause":
                self.order(server, "signal", "server", signal.SIGSTOP)
                return lambda: self.order(server, "signal", "server", signal.SIGCONT)
            case "scheduler":
                self.order(0, "kill", "scheduler")
                return lambda: self.order(0, "start", "scheduler")
            case "cut host":
                self.network.cut(server)
                return lambda: self.network.mend(server)
            case _:
                self.cut_pair(server, other)
                return lambda: self.mend_pair(server, other)

    def cut_pair(self, one: int, other: int) -> None:
        self.order(one, "cut", other)
        self.order(other, "cut", one)

    def mend_pair(self, one: int, other: int) -> None:
        self.order(one, "mend", other)
        self.order(other, "mend", one)


@contextmanager
def cluster(folder: Path, pause: float) -> Iterator[Hosts]:
    """A cluster on hosts whose workers are at work; what they did is the ``result`` of its ``workers`` afterwards."""
    keys = security.make_keys(folder / "keys")
    options: dict[str, Any] = {"copies": 2, "staleness": None, "patience": 600.0, "disk": str(folder / "disk")}
    config = goodput.config(SERVERS, WORKERS, str(keys), **options)
    told = msgspec.json.encode(config)
    with Network(SERVERS + WORKERS) as network, ThreadPoolExecutor(1) as thread:
        it = Hosts(network, folder, config)
        network.run(begin, told, str(folder), timeout=DEADLINE_S)
        it.order(0, "start", "scheduler")
        for server in range(SERVERS):
            it.order(server, "start", "server")
        it.workers = thread.submit(network.run, work, told, str(folder), pause)
        try:
            it.until(lambda: all(it.told(worker)[1:] > (True, 0) for worker in range(WORKERS)))
            yield it
        finally:
            (folder / "stop").touch()
            if it.workers.done():
                it.workers.result()
        it.workers.result(DEADLINE_S)
