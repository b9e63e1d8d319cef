"""Hosts on one machine: processes in network namespaces of their own, joined by a switch over links of a known rate.

A host has an address, an interface and a process; what it sends goes through the kernel's TCP and a token
bucket, so a link of 1 Gbit/s is one, except that nothing travels. Linux can do this without being root, where
it lets users make namespaces. The chapter *Automatic parallelism* is the first that needs it.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import cache
from importlib.util import find_spec
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from dlperf.environment import lacking, places

GIGABIT = 125e6
"""The bytes per second of a link of 1 Gbit/s."""

PAYLOAD = 1448 / 1514
"""Which share of an Ethernet frame's bytes TCP delivers: 1500 less headers of 20 and 32, of 1500 and its own 14."""

INTERFACE = "eth0"


class Unavailable(RuntimeError):
    """There can be no network here, and why: the system makes no namespaces, or a package is lacking."""


class Network(AbstractContextManager):
    """So many ``hosts`` at a switch, each by a full-duplex link of ``rate`` B/s; a context manager.

    Host ``i`` is a Python process with the address ``10.0.0.(i + 1)``. It computes with one thread; for this and the
    threads that send it has its share of the cores. Raises `Unavailable` where there can be none.
    """

    def __init__(self, hosts: int = 2, rate: float = GIGABIT) -> None:
        if not 1 <= hosts <= 250:
            raise ValueError(f"a network has 1 to 250 hosts, got {hosts}")
        if not rate >= 1e4:
            raise ValueError(f"rate is in bytes per second, at least 10000, got {rate}")
        self.hosts, self.rate = hosts, rate

    def __enter__(self) -> Network:
        if not _installed("pyroute2"):
            raise Unavailable(lacking("pyroute2"))
        pairs = [Pipe() for _ in range(self.hosts)]
        self.pipes = [near for near, _ in pairs]
        handed = [far.fileno() for _, far in pairs]
        arguments = [sys.executable, "-m", "dlperf.network", "switch", str(int(self.rate)), *map(str, handed)]
        self._switch = _start(["--user", "--map-root-user"], arguments, handed)
        for _, far in pairs:
            far.close()
        for i, pipe in enumerate(self.pipes):
            try:
                pipe.recv_bytes()  # it is up
            except EOFError:
                why = self._close()
                raise Unavailable(
                    f"this system makes no network namespaces: host {i} of {self.hosts} did not start: {why}"
                ) from None
        return self

    def run(self, fn: Callable[..., Any], *args: Any) -> list[Any]:
        """Returns ``fn(rank, *args)`` of every host, in order; all begin at once.

        ``fn`` is a function of a module, which every host imports. Raises RuntimeError with the traceback of the
        first host that failed; the others may then wait for it for ever, so the network is of no more use.
        """
        for rank, pipe in enumerate(self.pipes):
            pipe.send_bytes(pickle.dumps((fn, (rank, *args))))
        results = []
        for rank, pipe in enumerate(self.pipes):
            try:
                failed, result = pickle.loads(pipe.recv_bytes())
            except EOFError:
                failed, result = True, "its process has ended"
            if failed:
                self._close()
                raise RuntimeError(f"host {rank} failed in {fn.__name__}: {result}")
            results.append(result)
        return results

    def _close(self) -> str:
        """Lets the hosts end, which is the end of their namespaces; returns what the switch had to say."""
        for pipe in self.pipes:
            pipe.close()
        try:
            return self._switch.communicate(timeout=10)[1].strip()
        except subprocess.TimeoutExpired:  # a host is stuck in what it was asked to do
            self._switch.terminate()
            return self._switch.communicate()[1].strip()

    def __exit__(self, *_: object) -> None:
        self._close()


def _installed(package: str) -> bool:
    """Returns whether a package can be imported, without importing it: only the hosts need it."""
    try:
        return find_spec(package) is not None
    except ImportError:
        return False


def _start(options: list[str], arguments: list[str], handed: list[int]) -> subprocess.Popen[str]:
    """Starts a command in a new network namespace, with the files ``handed`` to it and pipes for the usual three."""
    environ = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": INTERFACE}
    streams: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = ["unshare", *options, "--net", "--", *arguments]
    try:
        return subprocess.Popen(command, **streams, text=True, pass_fds=handed, env=environ)
    except FileNotFoundError:
        raise Unavailable("there is no command unshare, which is part of util-linux: this needs Linux") from None


@cache
def unavailable() -> str:
    """Returns why this system cannot have a `Network`, or an empty string if it can: one is made to see."""
    try:
        with Network(1):
            return ""
    except Unavailable as error:
        return str(error)


def process_group(rank: int, size: int) -> None:
    """Joins a host to PyTorch's process group of all, over their links by gloo; once is enough."""
    import torch.distributed as dist

    if not dist.is_initialized():
        dist.init_process_group("gloo", init_method="tcp://10.0.0.1:29500", rank=rank, world_size=size)


def _switch(rate: int, handed: list[int]) -> None:
    """Starts a host for each pipe handed over, plugs it in, and waits for all of them to end."""
    from pyroute2 import IPRoute

    with IPRoute() as ip:
        ip.link("add", ifname="switch", kind="bridge")
        (bridge,) = ip.link_lookup(ifname="switch")
        ip.link("set", index=bridge, state="up")
        hosts = []
        for i, pipe in enumerate(handed):
            arguments = map(str, ("host", rate, i, len(handed), pipe))
            host = _start([], [sys.executable, "-m", "dlperf.network", *arguments], [pipe])
            assert host.stdin
            assert host.stdout
            hosts.append(host)
            os.close(pipe)
            host.stdout.readline()  # it is in its namespace
            ip.link("add", ifname=f"port{i}", kind="veth", peer={"ifname": INTERFACE, "net_ns_pid": host.pid})
            (port,) = ip.link_lookup(ifname=f"port{i}")
            ip.link("set", index=port, master=bridge, state="up")
            _limit(ip, port, rate)
            host.stdin.write("plugged in\n")
            host.stdin.flush()
    for host in hosts:
        _, said = host.communicate()
        sys.stderr.write(said)


def _limit(ip: Any, interface: int, rate: int) -> None:
    """Limits what leaves an interface to ``rate`` B/s; 20 ms of it may queue.

    The kernel hands over packets of many frames. One longer than the bucket is deep would be cut up, and many
    short ones are dear too: both take the processor from what computes beside them. But a full bucket passes at
    once. So packets are at most half a millisecond of the rate, and the bucket one and a half of them.
    """
    packet = min(max(rate // 2000, 1500), 65_000)
    ip.link("set", index=interface, gso_max_size=packet)
    ip.tc("add", "tbf", interface, 0x10000, rate=rate, burst=packet * 3 // 2, latency=20_000)


def _host(rate: int, rank: int, hosts: int, fileno: int) -> None:
    """Takes an address, then calls what comes over the pipe until it is closed."""
    from pyroute2 import IPRoute

    print("in its namespace", flush=True)
    sys.stdin.readline()
    with IPRoute() as ip:
        ip.link("set", index=1, state="up")  # loopback
        (interface,) = ip.link_lookup(ifname=INTERFACE)
        ip.addr("add", index=interface, address=f"10.0.0.{rank + 1}", prefixlen=24)
        ip.link("set", index=interface, state="up")
        _limit(ip, interface, rate)
    free = places()
    if free:
        os.sched_setaffinity(0, free[rank % len(free) :: hosts])
    pipe = Connection(fileno)
    pipe.send_bytes(b"up")
    with suppress(EOFError):
        while True:
            fn, args = pickle.loads(pipe.recv_bytes())
            try:
                answer = pickle.dumps((False, fn(*args)))  # not pipe.send: it would share a tensor's memory
            except Exception:
                answer = pickle.dumps((True, traceback.format_exc()))
            pipe.send_bytes(answer)


if __name__ == "__main__":
    role, rate, *rest = sys.argv[1:]
    if role == "switch":
        _switch(int(rate), list(map(int, rest)))
    else:
        _host(int(rate), *map(int, rest))
