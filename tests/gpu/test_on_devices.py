"""What the chapter on several GPUs has processes compute, on two simulated GPUs: the same weights on each.

`tests/long/gpu` takes the same road on four.
"""

from __future__ import annotations

from tests.gpu.conftest import Run

ROAD = """
import torch
from dlperf.multigpu import correctness, link, reduce_costs, road
from dlperf.multigpu.group import devices
from dlperf.multigpu.road import Exchange
from tests.multigpu.summing import device_kind, sums, weights_after
with devices(K) as crew:
    assert crew.kind == "GPU" and crew.run(device_kind) == ["cuda"] * K
    for name in ("first", "sharded", "ring"):
        one, *others = crew.run(sums, name, K, 7)
        assert len(others) == K - 1 and all(torch.equal(one.cpu(), each.cpu()) for each in others), name
        right = torch.arange(7) * 0.1 * K + K * (K - 1) / 2
        torch.testing.assert_close(one.cpu(), right)
    for exchange in [*Exchange][1:]:
        one, *others = (each.cpu() for each in crew.run(weights_after, exchange, K))
        for each in others:
            assert torch.equal(one, each) == (exchange is not Exchange.APART), exchange
        for trace in crew.run(road.traced_step, exchange, K, 4):
            sent = 0 if exchange is Exchange.APART else sum(trace.gradient_bytes)
            assert sum(trace.message_bytes) == sent, exchange
            assert trace.begin <= trace.forward_end <= trace.backward_end <= trace.update <= trace.end, trace
    found = link.measure_link(crew, repeats=1)
    assert found.beta > 0 and link.in_succession(crew, repeats=1).unit == "s"
    found = correctness.compare(crew, crew, most=K)
    assert len(found["float64-by-k"]) == K and found["float64"] < 1e-12 and found["copy-other"] > 0.1, found
    assert not any("bytes" in key for key in reduce_costs.compare(crew, (K,), link.Line(1, 1), 4096, 1))
"""
"""A program for ``K`` simulated GPUs."""


def road_on(k: int) -> str:
    """Returns the program for ``k`` of them."""
    return f"K = {k}\n{ROAD}"


def test_the_road_on_two_gpus(run: Run) -> None:
    assert not run(road_on(2))
