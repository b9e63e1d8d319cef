"""The processes of a network: a switch, which makes the others and plugs them in, and its hosts."""

from __future__ import annotations

import json
import os
import pickle
import select
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from threading import Thread
from typing import Any

from dlperf.environment import places
from dlperf.network import delay
from dlperf.workers import serve

INTERFACE = "eth0"
"""What a host's interface is called."""

cores_of: list[list[int]] = []
"""In a host: the cores of each host of its network; empty where the system cannot pin."""


@dataclass(frozen=True)
class Plan:
    """What a switch is told: ``rates`` in B/s and ``delays`` in s of its links, and two files that it has been handed.

    ``parent`` is a pidfd of who made the network, ``control`` a pipe: for a pipe to each host, and then for orders.
    """

    rates: list[int]
    delays: list[float]
    parent: int
    control: int

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


def switch(plan: Plan) -> None:
    """Starts a host for each pipe and plugs it in; then cuts and mends links as it is told, until nobody can tell it.

    It is the first of its process namespace: when it ends, the kernel kills all others.
    """
    _end_with(plan.parent)  # before anything that takes a while
    from pyroute2 import IPRoute

    with IPRoute() as ip:
        ip.link("add", ifname="switch", kind="bridge")
        (bridge,) = ip.link_lookup(ifname="switch")
        ip.link("set", index=bridge, state="up")
        line = delay.Line()
        control = Connection(plan.control)
        ports = [_plug_in(ip, plan, rank, recv_handle(control), bridge, line) for rank in range(len(plan.rates))]
        Thread(target=line.carry, daemon=True).start()
        with suppress(EOFError):
            while True:
                whole, rank = pickle.loads(control.recv_bytes())
                ip.link("set", index=ports[rank], master=bridge if whole else 0)  # its own end, so no host is told
                control.send_bytes(b"done")
    os._exit(0)


def _end_with(parent: int) -> None:
    """Ends this process as soon as ``parent`` has, whatever else it does: a pidfd can be read from when it has ended.

    Unlike the signal of a parent's death, it does not come when only a thread of the parent ends, nor is it lost
    when this process changes its rights; and if the parent has ended already, it comes at once.
    """

    def watch() -> None:
        select.select([parent], [], [])
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _plug_in(ip: Any, plan: Plan, rank: int, pipe: int, bridge: int, line: delay.Line) -> int:
    """Starts a host that has a pipe, and returns the port of the switch to which its link leads."""
    told = json.dumps([rank, len(plan.rates), plan.rates[rank], plan.packet, pipe])
    command = ["unshare", "--net", "--", sys.executable, "-m", "dlperf.network", "host", told]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    child = subprocess.Popen(command, **pipes, text=True, pass_fds=[pipe])  # type: ignore[call-overload]
    os.close(pipe)
    child.stdout.readline()  # it is in its namespace
    if plan.delays[rank]:
        line.add(f"port{rank}", f"far{rank}", plan.delays[rank])
        (far,) = ip.link_lookup(ifname=f"far{rank}")
        ip.link("set", index=far, net_ns_pid=child.pid, ifname=INTERFACE)
    else:
        ip.link("add", ifname=f"port{rank}", kind="veth", peer={"ifname": INTERFACE, "net_ns_pid": child.pid})
    (port,) = ip.link_lookup(ifname=f"port{rank}")
    ip.link("set", index=port, master=bridge, state="up")
    _limit(ip, port, plan.rates[rank], plan.packet)
    child.stdin.write("plugged in\n")
    child.stdin.close()
    return port


def _limit(ip: Any, interface: int, rate: int, packet: int) -> None:
    """Limits what leaves an interface to ``rate`` B/s; 20 ms of it may queue.

    A full bucket passes at once. So it is as deep as half a millisecond of the rate, or a packet, and a half.
    """
    deep = max(min(rate // 2000, 65_000), packet)
    ip.link("set", index=interface, gso_max_size=packet)
    ip.tc("add", "tbf", interface, 0x10000, rate=rate, burst=deep * 3 // 2, latency=20_000)


def host(rank: int, hosts: int, rate: int, packet: int, fileno: int) -> None:
    """Takes an address, then calls what comes over the pipe until it is closed."""
    from pyroute2 import IPRoute

    print("in its namespace", flush=True)
    sys.stdin.readline()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nobody reads the pipe any more
    with IPRoute() as ip:
        ip.link("set", index=1, state="up")  # loopback
        (interface,) = ip.link_lookup(ifname=INTERFACE)
        ip.addr("add", index=interface, address=address(rank), prefixlen=24)
        ip.link("set", index=interface, state="up")
        _limit(ip, interface, rate, packet)
    if free := places():
        cores_of[:] = [free[each % len(free) :: hosts] for each in range(hosts)]
        os.sched_setaffinity(0, cores_of[rank])
    pipe = Connection(fileno)
    pipe.send_bytes(b"up")
    serve(pipe)
