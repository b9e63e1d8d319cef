"""Links with a delay: each packet is taken from one end, kept for a while, and handed in at the other.

The kernel's own way, netem, is missing from many kernels of virtual machines. This is the same for all of them: both
ends are TAP interfaces, which hand their packets to a process and take them from it. Packets of many frames
stay whole, or there would be forty times as many.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import select
import struct
import time
from contextlib import suppress

TUN = "/dev/net/tun"
"""Where the kernel makes TAP interfaces."""

TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
CHECKSUMS_AND_SEGMENTS = 0x01 | 0x02 | 0x04 | 0x08
"""We take packets without checksums, and long ones of TCP: whoever gets them in the end is the same kernel."""

LARGEST = 2**17
"""More bytes than a packet has, with what stands before it."""


class Line:
    """All links of a switch that have a delay."""

    def __init__(self) -> None:
        self._other: dict[int, tuple[int, float]] = {}

    def add(self, near: str, far: str, delay: float) -> None:
        """Makes two interfaces of these names, joined by a link of so many seconds."""
        a, b = _tap(near), _tap(far)
        self._other |= {a: (b, delay), b: (a, delay)}

    def carry(self) -> None:
        """Passes on what comes in at either end of a link after its delay, for ever.

        What the other end does not take, because it is not up, is lost, as on any link.
        """
        kept: list[tuple[float, int, int, bytes]] = []  # a heap by time; the count keeps the order of equal ones
        count = 0
        while self._other:
            due = max(0.0, kept[0][0] - time.monotonic()) if kept else None
            ready, _, _ = select.select(self._other, [], [], due)
            for end in ready:
                other, delay = self._other[end]
                count += 1
                with suppress(OSError):
                    heapq.heappush(kept, (time.monotonic() + delay, count, other, os.read(end, LARGEST)))
            while kept and kept[0][0] <= time.monotonic():
                _, _, other, packet = heapq.heappop(kept)
                with suppress(OSError):
                    os.write(other, packet)


def _tap(name: str) -> int:
    """Makes a TAP interface and returns the file of its packets."""
    file = os.open(TUN, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
    fcntl.ioctl(file, TUNSETOFFLOAD, CHECKSUMS_AND_SEGMENTS)
    return file
