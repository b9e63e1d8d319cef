"""The processes of a network: a switch, which forks the others and plugs them in, and its hosts."""

from __future__ import annotations

import os
import pickle
import select
import socket
import sys
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle, send_handle
from threading import Thread
from typing import Any

from dlperf.environment import pinnable_cores
from dlperf.forked import end_with_parent
from dlperf.network import delay, namespaces
from dlperf.network.template import run_and_exit
from dlperf.workers import serve

INTERFACE = "eth0"
"""What a host's interface is called."""

cores_of: list[list[int]] = []
"""In a host: the cores of each host of its network; empty where the system cannot pin."""


@dataclass(frozen=True)
class Plan:
    """What a switch is told: ``rates`` in B/s and ``delays`` in s of its links, and what its processes find.

    They have the environment, the folder and the path of imports of who made the network.
    """

    rates: list[int]
    delays: list[float]
    environment: dict[str, str]
    folder: str
    path: list[str]

    @property
    def packet(self) -> int:
        """The most bytes that the kernel may hand over at once: half a millisecond of the slowest link.

        It hands over packets of many frames. One longer than a bucket is deep would be cut up, and many short ones
        are dear too: both take the processor from what computes beside them.
        """
        return min(max(min(self.rates) // 2000, 1500), 65_000)


def address(rank: int) -> str:
    """Returns the address of a host."""
    return f"10.0.0.{rank + 1}"


def begin(files: list[int]) -> None:
    """Makes the first process of a process namespace the switch, and returns when that has ended.

    ``files``: a pipe to who makes the network, first for the plan, to which a pidfd of the switch goes back; what the
    processes write to; a pidfd of who makes the network.
    """
    control, said, parent = files
    os.setpgid(0, 0)  # Ctrl-C is for who made the network, who will end it
    for stream in (sys.stdout, sys.stderr):
        os.dup2(said, stream.fileno())
    os.close(said)
    pipe = Connection(control)
    plan = pickle.loads(pipe.recv_bytes())
    os.environ.clear()
    os.environ.update(plan.environment, GLOO_SOCKET_IFNAME=INTERFACE, OMP_NUM_THREADS="1")
    os.chdir(plan.folder)
    sys.path[:] = plan.path
    namespaces.enter_as_root(namespaces.NEWPID | namespaces.NEWNET)
    if (first := os.fork()) == 0:
        run_and_exit(lambda: switch(plan, pipe, parent))
    send_handle(pipe, os.pidfd_open(first), 0)
    pipe.close()  # or nobody would see that the switch has ended
    os.waitpid(first, 0)


def switch(plan: Plan, control: Connection, parent: int) -> None:
    """Forks a host for each pipe and plugs it in; then cuts and mends links as it is told, until nobody can tell it.

    It is the first of its process namespace: when it ends, the kernel kills all others.
    """
    end_with_parent(0)  # which is all that the first process sees of it
    hosts = [_fork(plan, rank, control, parent) for rank in range(len(plan.rates))]  # before there are threads
    _end_with(parent)
    from pyroute2 import IPRoute

    with IPRoute() as ip:
        ip.link("add", ifname="switch", kind="bridge")
        (bridge,) = ip.link_lookup(ifname="switch")
        ip.link("set", index=bridge, state="up")
        line = delay.Line()
        ports = [_plug_in(ip, plan, rank, host, bridge, line) for rank, host in enumerate(hosts)]
        Thread(target=line.carry, daemon=True).start()
        with suppress(EOFError):
            while True:
                whole, rank = pickle.loads(control.recv_bytes())
                ip.link("set", index=ports[rank], master=bridge if whole else 0)  # its own end, so no host is told
                control.send_bytes(b"done")


def _end_with(parent: int) -> None:
    """Ends this process as soon as ``parent`` has, whatever else it does: a pidfd can be read from when it has ended.

    Unlike the signal of a parent's death, it does not come when only a thread of the parent ends, nor is it lost
    when this process changes its rights; and if the parent has ended already, it comes at once.
    """

    def watch() -> None:
        select.select([parent], [], [])
        os._exit(1)

    Thread(target=watch, daemon=True).start()


@dataclass(frozen=True)
class Host:
    """A process that waits to be plugged in, and the socket on which it waits."""

    pid: int
    line: socket.socket


def _fork(plan: Plan, rank: int, control: Connection, parent: int) -> Host:
    """Forks a host, which has the next pipe that comes."""
    pipe = recv_handle(control)
    near, far = socket.socketpair()
    if (pid := os.fork()) == 0:
        control.close()
        os.close(parent)
        near.close()
        run_and_exit(lambda: host(plan, rank, pipe, far))
    os.close(pipe)
    far.close()
    return Host(pid, near)


def _plug_in(ip: Any, plan: Plan, rank: int, host: Host, bridge: int, line: delay.Line) -> int:
    """Plugs in a host, and returns the port of the switch to which its link leads."""
    host.line.recv(1)  # it is in its namespace
    if plan.delays[rank]:
        line.add(f"port{rank}", f"far{rank}", plan.delays[rank])
        (far,) = ip.link_lookup(ifname=f"far{rank}")
        ip.link("set", index=far, net_ns_pid=host.pid, ifname=INTERFACE)
    else:
        ip.link("add", ifname=f"port{rank}", kind="veth", peer={"ifname": INTERFACE, "net_ns_pid": host.pid})
    (port,) = ip.link_lookup(ifname=f"port{rank}")
    ip.link("set", index=port, master=bridge, state="up")
    _limit(ip, port, plan.rates[rank], plan.packet)
    host.line.send(b"!")
    host.line.close()
    return port


def _limit(ip: Any, interface: int, rate: int, packet: int) -> None:
    """Limits what leaves an interface to ``rate`` B/s; 20 ms of it may queue.

    A full bucket passes at once. So it is as deep as half a millisecond of the rate, or a packet, and a half.
    """
    deep = max(min(rate // 2000, 65_000), packet)
    ip.link("set", index=interface, gso_max_size=packet)
    ip.tc("add", "tbf", interface, 0x10000, rate=rate, burst=deep * 3 // 2, latency=20_000)


def host(plan: Plan, rank: int, fileno: int, line: socket.socket) -> None:
    """Takes an address, once it is plugged in, then calls what comes over the pipe until it is closed."""
    namespaces.enter(namespaces.NEWNET)
    line.send(b"!")
    line.recv(1)
    line.close()
    from pyroute2 import IPRoute

    with IPRoute() as ip:
        ip.link("set", index=1, state="up")  # loopback
        (interface,) = ip.link_lookup(ifname=INTERFACE)
        ip.addr("add", index=interface, address=address(rank), prefixlen=24)
        ip.link("set", index=interface, state="up")
        _limit(ip, interface, plan.rates[rank], plan.packet)
    hosts = len(plan.rates)
    if free := pinnable_cores():
        cores_of[:] = [free[each % len(free) :: hosts] for each in range(hosts)]
        os.sched_setaffinity(0, cores_of[rank])
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
    pipe = Connection(fileno)
    pipe.send_bytes(b"up")
    serve(pipe)
