"""Count what each host's link sent and received, to compare with the predictions of `dlperf.servers.loads`.

The chapter *Parameter servers* draws both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dlperf.multigpu import traffic
from dlperf.network import INTERFACE, PAYLOAD, Network
from dlperf.servers.loads import Load, Phase


def carried(rank: int = 0) -> Load:
    """Returns the bytes that this host of a network has sent and received so far, without headers.

    Raises ValueError where there is no such interface.
    """
    return Load(traffic.sent() * PAYLOAD, received())


def received(interface: str = INTERFACE) -> int:
    """Returns the bytes that have come to a host: the kernel joins frames again, and counts few of their headers."""
    from pyroute2 import IPRoute

    with IPRoute() as ip:
        found = ip.link_lookup(ifname=interface)
        if not found:
            raise ValueError(f"there is no interface {interface}: call this in a host of a network")
        return int(ip.get_links(found[0])[0].get_attr("IFLA_STATS64")["rx_bytes"])


def counted(network: Network, run: Callable[[], Any], tensors: float) -> tuple[Any, Phase]:
    """Returns what ``run`` does, and what each host's link carried meanwhile, in units of so many bytes."""
    before = network.run(carried)
    found = run()
    return found, difference(before, network.run(carried), tensors)


def difference(before: Sequence[Load], after: Sequence[Load], tensors: float) -> Phase:
    """Returns what was carried between two counts, of each host, in units of so many bytes."""
    return tuple(
        Load(*((b - a) / tensors for a, b in zip(*each, strict=True))) for each in zip(before, after, strict=True)
    )
