"""Count the bytes that a host has sent over its link, with headers and acknowledgements.

The chapter *Training on multiple GPUs, from scratch* holds formulas against it.
"""

from __future__ import annotations

from dlperf.network import INTERFACE, PAYLOAD


def sent(interface: str = INTERFACE) -> int:
    """Returns the bytes that have left a host of a `dlperf.network.Network` so far.

    It is the count of the queue that limits the link's rate. That of the interface would count the headers of a large
    packet once, though it is cut into many frames. Raises ValueError where there is no such interface, and
    LookupError where nothing queues there.
    """
    from pyroute2 import IPRoute

    with IPRoute() as ip:
        found = ip.link_lookup(ifname=interface)
        if not found:
            raise ValueError(f"there is no interface {interface}: call this in a host of a network")
        for queue in ip.get_qdiscs(found[0]):
            if stats := queue.get_attr("TCA_STATS"):
                return int(stats["bytes"])
    raise LookupError(f"nothing counts what leaves by {interface}")


def on_wire(payload: float) -> float:
    """Returns the bytes of the frames that carry so many bytes of ``payload`` by TCP."""
    return payload / PAYLOAD
