"""Assign keys to servers by consistent hashing, and shard large values into parts across all servers."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise

PART = 2**20
"""The most bytes of a part. A message carries one part: small enough to queue, large enough to pay for its header."""

WHOLE = 2**16
"""So many bytes are not worth cutting: a message costs about as much as so many bytes more."""


def digest(text: str) -> int:
    """Returns where a text is on a circle of 2⁶⁴ places: the same on every machine, unlike `hash`."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())


class Ring:
    """Consistent hashing: each server has ``points`` on a circle, and a key belongs to the next point's server.

    A further server takes over a share of keys, and all others stay where they are. Source: Karger et al.,
    Consistent hashing and random trees, STOC 1997.
    """

    def __init__(self, servers: int, points: int = 128) -> None:
        if servers < 1:
            raise ValueError(f"keys need at least one server, got {servers}")
        self.servers = servers
        places = sorted((digest(f"server {s}, point {p}"), s) for s in range(servers) for p in range(points))
        self._places, self._owners = zip(*places, strict=True)

    def home(self, key: str, part: int = 0) -> int:
        """Returns the server to whose range a part belongs: the key's own, and for further parts those after it."""
        point = bisect(self._places, digest(key)) % len(self._places)
        return int(self._owners[point] + part) % self.servers


def cut(length: int, itemsize: int, servers: int) -> list[slice]:
    """Returns the parts of ``length`` elements, or rows, of so many bytes each: nearly equal, in order.

    There are as many as servers, unless less bytes are not worth it, or parts would be too large.
    """
    size = length * itemsize
    parts = max(1, min(length, max(-(-size // PART), min(servers, size // WHOLE))))
    edges = [length * p // parts for p in range(parts + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def chain(range_: int, servers: Sequence[int], copies: int, total: int) -> list[int]:
    """Returns which of the given servers would hold a range: its own, if given, and those after it."""
    return sorted(servers, key=lambda server: (server - range_) % total)[:copies]
