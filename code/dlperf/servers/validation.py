"""Is the simulation right? Its constants are fitted to some measurements, and others are predicted from them.

A `Point` is a measurement, with what the simulation makes of it in any cluster. The chapter *Parameter servers* tells
the story.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

import numpy as np
from numpy.typing import NDArray

from dlperf.measurement import Measurement
from dlperf.servers import at_scale
from dlperf.servers.aggregation_trials import Trial
from dlperf.servers.at_scale import CostModel, burst
from dlperf.servers.events import Cluster

COSTS = ("alpha", "beta", "per_message", "per_byte")
"""What there is to fit: a message's way, a byte on a link, and what either takes its receiver's processor, in s."""

START = {"alpha": 1e-4, "beta": 1e-8, "per_message": 1e-5, "per_byte": 1e-10}
ROUNDS = 20
"""So often is the fit repeated at what it has found: which of two is the slower may have changed."""


@dataclass(frozen=True)
class Point:
    """Something that was measured, in seconds, and what the simulation predicts for it in a cluster."""

    name: str
    measured: Measurement
    predict: Callable[[Cluster], float]


@dataclass(frozen=True)
class Row:
    """A point whose seconds were ``predicted``."""

    name: str
    measured: Measurement
    predicted: float

    @property
    def error(self) -> float:
        """How much more than the measured median was predicted: 0.1 is a tenth too much."""
        return self.predicted / self.measured.median - 1


@dataclass(frozen=True)
class Check:
    """The ``cluster`` that was fitted to points that were ``known``, and its predictions of ``unseen`` ones."""

    cluster: Cluster
    known: tuple[Row, ...]
    unseen: tuple[Row, ...]

    @property
    def error(self) -> float:
        """The median of the unseen points' absolute relative errors."""
        return typical(self.unseen)

    @property
    def worst(self) -> float:
        """The largest of the unseen points' absolute relative errors."""
        return max(abs(row.error) for row in self.unseen)


def typical(rows: Sequence[Row]) -> float:
    """Returns the median absolute relative error of predictions."""
    return median(abs(row.error) for row in rows)


def check(known: Sequence[Point], unseen: Sequence[Point], costs: Sequence[str] = COSTS) -> Check:
    """Returns how far predictions of ``unseen`` points are off, if all that is learnt is from the ``known`` ones.

    Raises ValueError where a point is on both sides, one side has none, or `fit` does.
    """
    if not known or not unseen:
        raise ValueError(f"both sides need a point, got {len(known)} known and {len(unseen)} unseen")
    if both := {p.name for p in known} & {p.name for p in unseen}:
        raise ValueError(f"what was fitted to is not predicted, but these are on both sides: {', '.join(sorted(both))}")
    cluster = fit(known, costs)
    return Check(cluster, *(tuple(Row(p.name, p.measured, p.predict(cluster)) for p in s) for s in (known, unseen)))


def fit(points: Sequence[Point], costs: Sequence[str] = COSTS) -> Cluster:
    """Returns the cluster whose predictions have the least squares of *relative* errors, with no constant negative.

    Those that are not among ``costs``, or of which the points tell nothing, are 0. Raises ValueError if one of
    ``costs`` is none of `COSTS`, and if there is no such cluster.
    """
    if odd := set(costs) - set(COSTS):
        raise ValueError(f"costs are {', '.join(COSTS)}, got {', '.join(sorted(odd))}")
    if "beta" not in costs:
        raise ValueError(f"a link takes its time for a byte, so beta is one of the costs; got {', '.join(costs)}")
    seconds = np.array([p.measured.median for p in points])
    at = np.array([START[cost] * (cost in costs) for cost in COSTS])
    found = []
    for _ in range(ROUNDS):
        slopes = np.array([[_slope(p, at, i) for i in range(len(COSTS))] for p in points])
        at = _least_squares(slopes / seconds[:, None], [COSTS.index(cost) for cost in costs])
        told = np.array([p.predict(_cluster(at)) for p in points])
        found.append((float(np.square(told / seconds - 1).sum()), at.tolist()))
    return _cluster(min(found)[1])


def _cluster(costs: Sequence[float] | NDArray[np.float64]) -> Cluster:
    alpha, beta, per_message, per_byte = map(float, costs)
    return Cluster(1 / beta, alpha, per_message, per_byte)


def _slope(point: Point, at: NDArray[np.float64], which: int) -> float:
    """Returns by how much a prediction grows with one of the costs; where nothing overtakes, it is in proportion."""
    step = 1e-6 * START[COSTS[which]]
    more = at.copy()
    more[which] += step
    return (point.predict(_cluster(more)) - point.predict(_cluster(at))) / step


def _least_squares(shares: NDArray[np.float64], allowed: Sequence[int]) -> NDArray[np.float64]:
    """Returns the costs, none of them negative, for which the rows come nearest to 1; of equals, those with most zeros.

    Each set of costs is tried with all others at 0. Source: Lawson and Hanson, Solving Least Squares Problems, 1974,
    chapter 23.
    """
    best, least = None, np.inf
    for size in range(1, len(allowed) + 1):
        for some in combinations(allowed, size):
            costs = np.zeros(len(COSTS))
            costs[list(some)], *_ = np.linalg.lstsq(shares[:, list(some)], np.ones(len(shares)), rcond=None)
            left = float(np.square(shares @ costs - 1).sum())
            if costs.min() >= 0 and costs[1] > 0 and left < least - 1e-12:
                best, least = costs, left
    if best is None:
        raise ValueError("these points say nothing of a link's rate: none of them sends a byte")
    return best


# Points from what other modules have measured.


def _message(cluster: Cluster, world_size: int, size: float) -> float:
    return burst(cluster, 1, size, adds=False)


def _one_device(cluster: Cluster, world_size: int, size: float) -> float:
    return at_scale.single_server(cluster, world_size - 1, size)


COLLECTIVES: dict[str, CostModel] = {
    "step": _message,
    "ring": at_scale.WAYS["ring"],
    "tree": at_scale.tree,
    "halving-doubling": at_scale.halving_doubling,
    "sharded": at_scale.WAYS["colocated servers"],
    "one device": _one_device,
    "CPU": at_scale.single_server,
}
"""What the simulation has for what was measured, by the name of the way or the shape."""


def of_collectives(hosts: int, taken: Mapping[tuple[str, int], Measurement]) -> list[Point]:
    """Returns points of what `collective_trials.clocked` and `slowest` found on so many hosts; "library" is none."""
    return [
        _point(f"{way}, {hosts} hosts, {size} bytes", seconds, COLLECTIVES[way], hosts, size)
        for (way, size), seconds in taken.items()
        if way in COLLECTIVES
    ]


def of_shapes(trial: Trial) -> list[Point]:
    """Returns points of what `aggregation_trials.measured` found."""
    return [
        _point(f"{shape}, {trial.devices} devices, {trial.size} bytes", seconds, COLLECTIVES[shape], trial.devices,
               trial.size)
        for shape, seconds in trial.measured.items()
    ]  # fmt: skip


def of_store(servers: int, workers: int, size: int, taken: Mapping[str, Measurement]) -> Point:
    """Returns the point of what `goodput.measured` found."""
    way = lambda cluster, n, size: at_scale.through_servers(cluster, n, size, servers)
    return _point(f"the store, {servers} servers, {workers} workers, {size} bytes", taken["both"], way, workers, size)


def _point(name: str, seconds: Measurement, way: CostModel, hosts: int, size: float) -> Point:
    return Point(name, seconds, lambda cluster: way(cluster, hosts, size))
