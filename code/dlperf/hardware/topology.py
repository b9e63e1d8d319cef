"""How hosts are joined: what each way costs in links, and what it gives in hops and in bandwidth across the middle.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt


@dataclass(frozen=True)
class Topology:
    """A way to join so many ``hosts``.

    ``hops`` are the links between the two hosts that are farthest apart; ``bisection`` the fewest links that must be
    cut so that half of the hosts cannot reach the other half.
    """

    name: str
    hosts: int
    links: int
    hops: int
    bisection: int


def star(hosts: int) -> Topology:
    """Returns one switch with a link to every host."""
    return Topology("one switch", hosts, hosts, 2, hosts // 2)


def ring(hosts: int) -> Topology:
    """Returns a ring, in which each host has a link to the next; of three hosts or more."""
    return Topology("ring", hosts, hosts, hosts // 2, 2)


def torus(hosts: int) -> Topology:
    """Returns a square in which each row and each column is a ring, of an even number of hosts, four or more."""
    side = isqrt(hosts)
    if side * side != hosts or side < 4 or side % 2:
        raise ValueError(f"a square torus has 16, 36, 64, ... hosts, got {hosts}")
    return Topology("torus", hosts, 2 * hosts, 2 * (side // 2), 2 * side)


def fat_tree(hosts: int) -> Topology:
    """Returns three layers of switches with ``k`` ports each, for ``k**3 / 4`` hosts, and no layer narrower.

    Source: Al-Fares, Loukissas and Vahdat, A scalable, commodity data center network architecture, 2008, section 2.
    """
    k = round((4 * hosts) ** (1 / 3))
    if k**3 != 4 * hosts or k % 2:
        raise ValueError(f"a fat tree has 2, 16, 54, 128, ... hosts, got {hosts}")
    return Topology("fat tree", hosts, 3 * hosts, 6, hosts // 2)
