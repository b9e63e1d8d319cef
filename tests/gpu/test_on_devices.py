"""What the chapter on several GPUs has processes compute, on two simulated GPUs: the same weights as on cores."""

from __future__ import annotations

from tests.gpu.conftest import Run

ROAD = """
import torch
from dlperf.multigpu import correctness, link, reduce_costs, road
from dlperf.multigpu.group import devices
from dlperf.multigpu.road import Exchange
from tests.multigpu.summing import device_kind, sums, weights_after
with devices(2) as crew:
    assert crew.kind == "GPU" and crew.run(device_kind) == ["cuda", "cuda"]
    for name in ("first", "sharded", "ring"):
        one, other = crew.run(sums, name, 2, 7)
        assert torch.equal(one.cpu(), other.cpu()), name
    for exchange in [*Exchange][1:]:
        one, other = (each.cpu() for each in crew.run(weights_after, exchange))
        assert torch.equal(one, other) == (exchange is not Exchange.APART), exchange
        for trace in crew.run(road.traced_step, exchange, 2, 4):
            sent = 0 if exchange is Exchange.APART else sum(trace.gradient_bytes)
            assert sum(trace.message_bytes) == sent, exchange
            assert trace.begin <= trace.forward_end <= trace.backward_end <= trace.update <= trace.end, trace
    assert link.measure_link(crew, repeats=1).beta > 0
    found = correctness.compare(crew, crew, most=2)
    assert found["float64"] < 1e-12 and found["copy-other"] > 0.1, found
    assert not any("bytes" in key for key in reduce_costs.compare(crew, (2,), link.Line(1, 1), 4096, 1))
"""


def test_the_road_on_two_gpus(run: Run) -> None:
    assert not run(ROAD)
