"""160 MB over loopback: the store against Ray's object store and PyTorch's RPC, in turn. The seconds are printed."""

from __future__ import annotations

from statistics import median

from dlperf.servers import others
from tests.servers import ray_sum

SIZE = 160_000_000
TURNS = 5


def test_the_store_adds_up_faster_than_ray_and_rpc() -> None:
    with ray_sum.workers(SIZE) as actors:
        for each in actors.values():
            ray_sum.clocked(each)  # warms up
        taken: dict[str, list[float]] = {}
        for _ in range(TURNS):
            for way, found in others.measured(SIZE, 1, [*others.BY_TCP, *others.NEARBY]).items():
                taken.setdefault(way, []).extend(found.samples)
            for way, each in actors.items():
                taken.setdefault(way, []).append(ray_sum.clocked(each))
    seconds = {way: median(each) for way, each in taken.items()}
    for way in seconds:
        print(f"{way}: {seconds[way]:.3f} s, of {[round(s, 3) for s in taken[way]]}")
    store = min(seconds["the store, 1 server"], seconds["the store, 2 servers"])
    assert store < seconds[ray_sum.BY_TCP]
    assert store < seconds[others.RPC]
