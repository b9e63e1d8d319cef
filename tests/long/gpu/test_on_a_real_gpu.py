"""What the host sees of a real GPU only if it is quicker than a kernel, and an order of measured times.

`tests/gpu/test_in_order.py` holds the same on a virtual clock.
"""

from __future__ import annotations

import threading

import pytest
import torch

from dlperf.asynchrony import streams as cuda_streams
from dlperf.asynchrony.engine import Engine
from dlperf.parallel import compute_and_copy
from tests.processes import DEADLINE_S

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def test_a_gpu_gives_freed_memory_away_before_it_was_read() -> None:
    assert cuda_streams.reused_while_pending("cuda")


def test_two_kernels_are_only_launched_in_one_stream_or_in_two() -> None:
    for launch in cuda_streams.branches("cuda", cycles=100_000_000).values():
        launch()
        ended = torch.cuda.current_stream().record_event()
        assert not ended.query()
        torch.cuda.synchronize()


def test_an_array_on_a_gpu_does_not_wait_for_the_engines_own_stream() -> None:
    begun = threading.Event()

    def long() -> None:
        torch.cuda._sleep(2 * 10**9)  # about a second
        begun.set()

    with Engine(["cuda:0"]) as engine:
        [engine.array(torch.ones(4, device=place)) for place in ("cpu", "cuda:0")]  # a first use may wait anyway
        op = engine.enqueue(long)
        assert begun.wait(DEADLINE_S)
        x = engine.array(torch.ones(4))
        y = engine.array(torch.ones(4, device="cuda:0"))
        assert not op.done
        assert (x + y).sum().item() == 8


@pytest.mark.parametrize("streams", [1, 2])
def test_a_gpu_overlaps_only_with_a_second_stream(streams: int) -> None:
    results = compute_and_copy.Results(6, 2000, 2000, "cuda")
    for steps in (compute_and_copy.products_first(6), compute_and_copy.each_then_its_copy(6)):
        trial = compute_and_copy.run_on_gpu(results, steps, results.copy_kept, streams)
        assert (trial.overlap > 0) == (streams == 2)
        for copy, product in zip(results.copies, results.products, strict=True):
            assert torch.equal(copy, product.cpu())
