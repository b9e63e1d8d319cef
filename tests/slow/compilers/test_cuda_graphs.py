"""CUDA graphs: a replay does what the function did."""

from __future__ import annotations

import pytest
import torch

from dlperf.compilers import cuda_graphs

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


def test_one_by_one_the_slower_side_rules() -> None:
    assert cuda_graphs.Launches(5e-6, 2e-6).one_by_one(100) == pytest.approx(5e-4)
    assert cuda_graphs.Launches(2e-6, 5e-6).one_by_one(100) == pytest.approx(5e-4)
    assert cuda_graphs.Launches(5e-6, 2e-6).as_graph(100) == pytest.approx(2.05e-4)


def test_the_loop_multiplies_in_place() -> None:
    loop = cuda_graphs.tiny_kernels(3, "cpu")
    assert loop().item() == pytest.approx(0.999**3)
    assert loop().item() == pytest.approx(0.999**6)


@needs_gpu
def test_a_replay_computes_with_what_is_in_memory_now() -> None:
    x = torch.ones(4, device="cuda")
    made = []
    graph = cuda_graphs.capture(lambda: made.append(x * 2 + 1))
    x.fill_(3)
    graph.replay()
    torch.cuda.synchronize()
    assert made[-1].tolist() == [7, 7, 7, 7]


@needs_gpu
def test_both_costs_are_positive() -> None:
    costs = cuda_graphs.behind_a_gate(cuda_graphs.tiny_kernels(50, "cuda"), 50, torch.device("cuda"))
    assert costs.launch > 0
    assert costs.run > 0
