"""CUDA graphs: a replay does what the function did."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from dlperf.compilers import cuda_graphs

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


def test_one_by_one_the_slower_side_rules() -> None:
    assert cuda_graphs.Launches(5e-6, 2e-6).one_by_one(100) == pytest.approx(5e-4)
    assert cuda_graphs.Launches(2e-6, 5e-6).one_by_one(100) == pytest.approx(5e-4)


def test_as_a_graph_all_kernels_run_behind_one_launch_of_its_own_price() -> None:
    assert cuda_graphs.Launches(5e-6, 2e-6).as_graph(100, launch=3e-5) == pytest.approx(2e-4)
    assert cuda_graphs.Launches(5e-6, 2e-6).as_graph(10, launch=3e-5) == pytest.approx(3e-5)


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
def test_behind_a_gate_each_side_is_timed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the CPU does by a clock that nothing else moves, and what the GPU does.

    That neither holds the time for which the gate is shut, is compared in `tests/long`.
    """
    now = [0.0]
    monkeypatch.setattr(cuda_graphs, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def kernel() -> None:
        begin.record()
        torch.cuda._sleep(100_000_000)
        end.record()

    def launch() -> None:
        now[0] += 0.5
        kernel()

    kernel()
    costs = cuda_graphs.behind_a_gate(launch, 1, torch.device("cuda"), 2_000_000_000)
    assert costs.launch == 0.5
    assert costs.run >= 0.99 * begin.elapsed_time(end) / 1e3
