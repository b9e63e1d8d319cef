"""What the experiments on compiling compute and count."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Any

import pytest
import torch

from dlperf.compilers import compilation
from dlperf.environment import compiler
from dlperf.measurement import Measurement

needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C++ compiler")


def test_a_chain_is_so_many_operations() -> None:
    x = torch.ones(2)
    assert torch.equal(compilation.chain(3)(x), (x * 0.999 + 0.001) * 0.999)
    assert compilation.chain(0)(x) is x


def branch(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    return y * 2 if x.sum() > 0 else y * 3


def test_graphs_are_counted_at_breaks_and_at_new_shapes() -> None:
    assert compilation.graphs(branch, [torch.ones(2)], [torch.ones(2)]) == [2, 0]
    shapes = [[torch.ones(n)] for n in (2, 3, 4, 5, 3)]
    assert compilation.graphs(torch.relu, *shapes, dynamic=False) == [1, 1, 1, 1, 0]
    assert compilation.graphs(lambda x: x * 2, *shapes) == [1, 1, 0, 0, 0]  # the second time with any shape


def test_break_even_is_never_where_each_call_loses() -> None:
    slow, fast = (Measurement(seconds, turns="t") for seconds in ((0.003,), (0.001,)))
    assert compilation.break_even(10, slow, fast) == pytest.approx(5000)
    assert compilation.break_even(10, fast, slow) == math.inf


def test_a_branch_in_python_breaks_the_graph_and_the_others_compute_the_same() -> None:
    for x in (torch.ones(4), 3 * torch.ones(4)):
        wanted = compilation.branching(x)
        assert torch.equal(compilation.selecting(x), wanted)
        assert torch.equal(torch.compile(compilation.conditional, backend="eager")(x), wanted)
    x = torch.ones(4)
    assert compilation.graphs(compilation.branching, [x]) == [2]
    assert compilation.graphs(compilation.selecting, [x]) == compilation.graphs(compilation.conditional, [x]) == [1]


def test_blocks_are_counted_as_calls() -> None:
    seen: list[int] = []
    found = compilation.in_blocks({"fn": lambda x: seen.append(len(x))}, torch.ones(3), calls=5, repeats=2)["fn"]
    assert len(seen) % 5 == 0
    assert found.calls_per_sample % 5 == 0
    assert len(found.samples) == 2


@needs_compiler
def test_a_new_process_compiles_into_the_folder(tmp_path: Path) -> None:
    seconds = compilation.first_calls_in_new_process(tmp_path, batch=2, repeats=2)
    assert {name: len(each) for name, each in seconds.items()} == {"first": 1, "further": 2, "again": 2}
    assert any(tmp_path.rglob("*.so"))


def test_a_further_graph_differs_in_a_few_neurons_and_finds_nothing_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[list[int]] = []

    def back_end(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        made.append([each.shape[0] for each in inputs if each.ndim == 1])
        return graph.forward

    monkeypatch.setattr(torch, "compile", functools.partial(torch.compile, backend=back_end))
    torch.compiler.reset()
    compilation.first_calls(batch=2, repeats=3)
    assert made == [[hidden, 128, 2] for hidden in (256, 257, 258, 259, 256, 256, 256)]


@needs_compiler
def test_kernels_are_the_fused_loops() -> None:
    fn, x = compilation.chain(3), torch.ones(1000)
    plain = compilation.kernels(compilation.generated(fn, x))
    assert len(plain) == 1
    assert "for(" in plain[0]
    assert compilation.kernels(compilation.generated(fn, x, mode="reduce-overhead")) == plain


def test_a_single_call_comes_after_other_work() -> None:
    seen: list[str] = []
    ways = {name: lambda x, name=name: seen.append(name) for name in "ab"}
    found = compilation.after_work(ways, lambda: seen.append("-"), torch.ones(1), repeats=2)
    assert "".join(seen) == 3 * "-a-b"
    assert {name: len(m.samples) for name, m in found.items()} == {"a": 2, "b": 2}


def test_a_nudge_is_a_rounding_error() -> None:
    one, other = compilation.cnn(), compilation.cnn()
    compilation.nudge(other)
    weights, nudged = (torch.cat([p.detach().flatten() for p in net.parameters()]) for net in (one, other))
    eps = torch.finfo(torch.float32).eps
    assert 0.5 < (weights != nudged).float().mean() < 0.8
    torch.testing.assert_close(weights, nudged, rtol=1.5 * eps, atol=0)


@needs_compiler
def test_compiled_training_follows_the_eager_one() -> None:
    (eager, net), (compiled, other) = compilation.training(False), compilation.training(True)
    losses = torch.stack([torch.stack([eager(), compiled()]) for _ in range(5)])
    torch.testing.assert_close(losses[:, 0], losses[:, 1], rtol=1e-4, atol=1e-4)
    assert losses[-1, 0] < losses[0, 0]
    torch.testing.assert_close(dict(net.named_parameters()), dict(other.named_parameters()), rtol=1e-3, atol=1e-4)
