"""Launches and kernels behind a gate: neither is charged with the time for which the gate is shut."""

from __future__ import annotations

import time

import pytest
import torch

from dlperf.compilers import cuda_graphs


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_behind_a_gate_each_side_is_timed_alone() -> None:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def kernel() -> None:
        begin.record()
        torch.cuda._sleep(100_000_000)
        end.record()

    kernel()
    costs = cuda_graphs.behind_a_gate(lambda: (time.sleep(0.02), kernel()), 1, torch.device("cuda"), 2_000_000_000)
    taken = begin.elapsed_time(end) / 1e3
    assert 0.02 <= costs.launch < 10 * taken  # the gate is shut for twenty times as long as the kernel takes
    assert costs.run == pytest.approx(taken, rel=0.5)
