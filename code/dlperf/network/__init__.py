"""Hosts on one machine: processes in network namespaces of their own, joined by a switch over links of a known rate.

A host has an address, an interface and a process; what it sends goes through the kernel's TCP and a token
bucket, so a link of 1 Gbit/s is one, except that nothing travels. A link may also have a delay, and can be cut
and mended at any time. Linux can do this without being root, where it lets users make namespaces. The chapter
*Automatic parallelism* is the first that needs it.

    with Network(2, rate=GIGABIT, delay=0.005) as net:  # 5 ms a link: 10 ms from host to host
        net.run(train, net.hosts)                       # train(rank, 2) on each, a function of a module
        with net.severed(1):                            # nothing comes from host 1, or to it
            net.run(train_without, 1)

All processes of a network are in one process namespace, whose first ends when the one that made the network does,
however that ends: then the kernel kills the others, whatever they are at, and their namespaces are gone.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from threading import Lock
from typing import Any

from dlperf.environment import lacking
from dlperf.network import delay as line
from dlperf.network import template
from dlperf.network.switch import INTERFACE, Plan, address, cores_of
from dlperf.workers import exchange, name_of

__all__ = [
    "GIGABIT",
    "INTERFACE",
    "PAYLOAD",
    "Network",
    "Unavailable",
    "address",
    "process_group",
    "process_group_beside",
    "unavailable",
]

GIGABIT = 125e6
"""The bytes per second of a link of 1 Gbit/s."""

PAYLOAD = 1448 / 1514
"""Which share of an Ethernet frame's bytes TCP delivers: 1500 less headers of 20 and 32, of 1500 and its own 14."""

SLOWEST, FASTEST = 1e4, 4e9
"""The rates that a link can have, in B/s: the kernel counts them in 32 bits."""

LONGEST = 10.0
"""The most seconds that a link can delay."""


class Unavailable(RuntimeError):
    """There can be no such network here, and why: the system does not make what it needs, or a package is lacking."""


class Network(AbstractContextManager):
    """So many ``hosts`` at a switch, each by a full-duplex link of ``rate`` B/s; a context manager.

    Each packet takes ``delay`` seconds on every link, and from host to host it crosses two. Rate and delay are one
    number, or one for each host. Host ``i`` is a Python process with the address ``10.0.0.(i + 1)``. It computes with
    one thread; for this and the threads that send it has its share of the cores, unless `process_group_beside` puts
    those elsewhere. Raises `Unavailable` where the system cannot do it. A delay is kept by a process of the switch,
    which takes some of a core: a seventh for 1 Gbit/s. Where all cores are busy, a packet may come milliseconds late,
    and TCP does not fill a fast link. A link without a delay is the kernel's alone.
    """

    def __init__(
        self, hosts: int = 2, rate: float | Sequence[float] = GIGABIT, delay: float | Sequence[float] = 0.0
    ) -> None:
        if not 1 <= hosts <= 250:
            raise ValueError(f"a network has 1 to 250 hosts, got {hosts}")
        self.hosts, self.rate, self.delay = hosts, rate, delay
        for each in _each("rate", hosts, rate):
            if not SLOWEST <= each <= FASTEST:
                raise ValueError(f"a rate is in bytes per second, from {SLOWEST:.0f} to {FASTEST:.0e}, got {each}")
        for each in _each("delay", hosts, delay):
            if not 0 <= each <= LONGEST:
                raise ValueError(f"a delay is in seconds, from 0 to {LONGEST:.0f}, got {each}")
        self._pipes: list[Connection] = []
        self._lock = Lock()
        self._switch: int | None = None  # a pidfd

    def __enter__(self) -> Network:
        _check(delayed=any(_each("delay", self.hosts, self.delay)))
        self._said = tempfile.TemporaryFile("a+b")  # what the hosts write; a pipe would be full some day
        rates, delays = _each("rate", self.hosts, self.rate), _each("delay", self.hosts, self.delay)
        plan = Plan(list(map(int, rates)), delays, dict(os.environ), os.getcwd(), sys.path)
        self._control, control = Pipe()
        program = os.pidfd_open(os.getpid())
        try:
            with control:
                template.current().fork([control.fileno(), self._said.fileno(), program])
            self._control.send_bytes(pickle.dumps(plan))
            self._switch = recv_handle(self._control)
            for _ in range(self.hosts):
                near, far = Pipe()
                self._pipes.append(near)
                with far:
                    send_handle(self._control, far.fileno(), 0)
            for pipe in self._pipes:
                pipe.recv_bytes()  # it is up
        except (EOFError, OSError):
            why = self._last_words()  # written before its end of a pipe was closed
            self._kill()
            raise Unavailable(f"this system makes no network namespaces: {why}") from None
        except BaseException:
            self._kill()
            raise
        finally:
            os.close(program)
        return self

    def run(self, fn: Callable[..., Any], *args: Any, timeout: float | None = None) -> list[Any]:
        """Returns ``fn(rank, *args)`` of every host, in order; all begin at once.

        ``fn`` is a function of a module, which every host imports. Raises WorkerError, a RuntimeError with the
        host's traceback, as soon as one fails, and TimeoutError after ``timeout`` seconds; both end the network.
        """
        self._needs_life()
        messages = [pickle.dumps((fn, (rank, *args))) for rank in range(self.hosts)]
        try:
            return exchange(self._pipes, messages, "host", name_of(fn), timeout)
        except BaseException as error:  # the others may wait for ever for the one that failed
            said = self._last_words()
            if said:
                error.add_note(f"What the hosts have written ends:\n{said}")
            self._kill()
            raise

    def cut(self, rank: int) -> None:
        """Has the switch drop all that comes from host ``rank`` or is meant for it, from now on.

        The host is not told, as in life: TCP sends again and again, at intervals that double from about 0.2 s.
        May be called while another thread waits in `run`. Returns when it is done.
        """
        self._plug(rank, False)

    def mend(self, rank: int) -> None:
        """Ends what `cut` began. What TCP was sending goes on with its next try: the longer the cut, the later."""
        self._plug(rank, True)

    @contextmanager
    def severed(self, rank: int) -> Iterator[None]:
        """Cuts the link of host ``rank`` for a block."""
        self.cut(rank)
        try:
            yield
        finally:
            if self._pipes:  # else it has ended in the block
                self.mend(rank)

    def _plug(self, rank: int, whole: bool) -> None:
        if not 0 <= rank < self.hosts:
            raise ValueError(f"hosts are 0 to {self.hosts - 1}, got {rank}")
        self._needs_life()
        try:
            with self._lock:
                self._control.send_bytes(pickle.dumps((whole, rank)))
                self._control.recv_bytes()
        except (EOFError, OSError):
            raise RuntimeError(f"this network has ended: {self._last_words()}") from None

    def _needs_life(self) -> None:
        if not self._pipes:
            raise RuntimeError("this network has ended, or was never started: it lives as long as its block")

    def _last_words(self) -> str:
        """Returns the end of what the switch and its hosts have written, as long as the network lives."""
        if self._said.closed:
            return ""
        self._said.seek(0)
        return self._said.read().decode(errors="replace").strip()[-2000:]

    def _kill(self) -> None:
        """Ends all processes of the network, and returns when they have ended."""
        pipes, self._pipes = [self._control, *self._pipes], []
        if self._switch is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._switch, signal.SIGKILL)
            os.close(self._switch)
        for pipe in pipes:
            with suppress(EOFError, OSError):
                while True:  # until nobody holds the other end
                    pipe.recv_bytes()
            pipe.close()
        self._said.close()

    def __exit__(self, *_: object) -> None:
        if self._pipes:
            self._kill()


def _each(name: str, hosts: int, given: float | Sequence[float]) -> list[float]:
    """Returns what is given for each host, be it one number or as many as there are hosts."""
    if not isinstance(given, Sequence):
        return [float(given)] * hosts
    if len(given) != hosts:
        raise ValueError(f"{name} is one number, or one for each of {hosts} hosts, got {len(given)} of them")
    return [float(each) for each in given]


def _check(*, delayed: bool) -> None:
    """Raises `Unavailable` where something is missing, and says how to get it."""
    if not hasattr(os, "pidfd_open"):
        raise Unavailable("network namespaces are Linux's: this system has none")
    if not _installed("pyroute2"):
        raise Unavailable(lacking("pyroute2"))
    if delayed and not os.access(line.TUN, os.R_OK | os.W_OK):
        raise Unavailable(f"links with a delay need {line.TUN}, which this process may not open, or which is not there")


def _installed(package: str) -> bool:
    """Returns whether a package can be imported, without importing it: only the switch and the hosts need it."""
    try:
        return find_spec(package) is not None
    except ImportError:
        return False


@cache
def unavailable(**options: float) -> str:
    """Returns why this system cannot have a `Network`, or an empty string if it can: one is made to see.

    ``options`` are those of `Network`, such as a ``delay``.
    """
    try:
        with Network(1, **options):
            return ""
    except Unavailable as error:
        return str(error)


def process_group(rank: int, size: int) -> None:
    """Joins a host to PyTorch's process group of all, over their links by gloo; once is enough."""
    import torch.distributed as dist

    if not dist.is_initialized():
        dist.init_process_group("gloo", init_method=f"tcp://{address(0)}:29500", rank=rank, world_size=size)


def process_group_beside(rank: int, size: int, host: int) -> None:
    """Joins as `process_group` does; what sends and receives runs on the cores of ``host``, which play a network card.

    What the calling thread computes then keeps its own cores to itself. Gloo's threads inherit the cores that the
    thread which starts them has at that moment, so it moves there to join, and back. Whoever has joined before
    stays as it is. Raises ValueError if the network has no such host.
    """
    if not 0 <= host < size:
        raise ValueError(f"hosts are 0 to {size - 1}, got {host}")
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores_of[host] if cores_of else own)
    try:
        process_group(rank, size)
    finally:
        os.sched_setaffinity(0, own)
