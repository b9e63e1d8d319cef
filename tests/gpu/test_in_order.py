"""What is still under way when the host goes on, and what overlaps, by a clock that no busy machine moves.

`tests/long/gpu/test_on_a_real_gpu.py` asks a real GPU.
"""

from __future__ import annotations

import pytest

from tests.gpu.conftest import Run
from tests.gpu.drills import START


def test_two_kernels_are_only_launched_in_one_stream_or_in_two(run: Run) -> None:
    assert not run(
        START
        + """
from dlperf.asynchrony import streams
for name, launch in streams.branches("cuda", 100_000_000).items():
    launch()
    ended = torch.cuda.current_stream().record_event()
    assert not ended.query(), name
    torch.cuda.synchronize()
"""
    )


def test_an_array_on_a_gpu_does_not_wait_for_the_engines_own_stream(run: Run) -> None:
    """In which a kernel of an hour runs: whoever waited for it would be in the next."""
    assert not run(
        START
        + """
import threading
from dlperf.asynchrony.engine import Engine
begun, go, ended = threading.Event(), threading.Event(), []
def long():
    busy(3600)
    ended.append(torch.cuda.current_stream().record_event())
    begun.set()
    go.wait()
with Engine(["cuda:0"]) as engine:
    operation = engine.enqueue(long)
    begun.wait()
    x, y = (engine.array(torch.ones(4, device=place)) for place in ("cpu", "cuda:0"))
    hour_is_over = ended[0].query()
    go.set()
    assert not hour_is_over
    assert (x + y).sum().item() == 8
    assert ended[0].query()
"""
    )


@pytest.mark.parametrize("streams", [1, 2])
def test_a_gpu_overlaps_only_with_a_second_stream(run: Run, streams: int) -> None:
    program = """
from dlperf.parallel import compute_and_copy as both
results = both.Results(6, 300, 300, "cuda")
for steps in (both.products_first(6), both.each_then_its_copy(6)):
    both.run_on_gpu(results, steps, results.copy_kept, {streams})
    for copy, product in zip(results.copies, results.products, strict=True):
        assert torch.equal(copy, product.cpu())
product, copy = results.product, results.copy_kept
results.product = lambda i: (busy(), product(i))
for steps in (both.products_first(6), both.each_then_its_copy(6)):
    trial = both.run_on_gpu(results, steps, lambda i: (busy(), copy(i)), {streams})
    assert abs(trial.overlap - {hidden} * 0.02) < 0.001, trial.overlap
"""
    assert not run(START + program.format(streams=streams, hidden=0 if streams == 1 else 5))
