"""What the experiments on compiling compute and count."""

from __future__ import annotations

import math

import pytest
import torch

from dlperf.compilers import compilation
from dlperf.measurement import Measurement


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
    slow, fast = (Measurement(seconds, pairing_id="t") for seconds in ((0.003,), (0.001,)))
    assert compilation.break_even(10, slow, fast) == pytest.approx(5000)
    assert compilation.break_even(10, fast, slow) == math.inf


def test_break_even_is_unknown_where_the_turns_do_not_tell_who_wins() -> None:
    before = Measurement((1.0, 1.0, 1.0, 1.0), pairing_id="t")
    after = Measurement((0.9, 1.1, 0.8, 1.2), pairing_id="t")
    assert math.isnan(compilation.break_even(10, before, after))
    assert [compilation.in_words(n) for n in (math.nan, math.inf, 41.6)] == ["unclear", "∞", "42"]


def test_break_even_is_unknown_where_the_medians_tell_another_winner() -> None:
    before = Measurement((1.0, 2.0, 3.0, 4.0, 5.0), pairing_id="t")
    late, later = (
        Measurement((0.9, 1.9, third, 3.9, fifth), pairing_id="t") for third, fifth in ((2.9, 9.0), (9.0, 4.9))
    )
    assert compilation.break_even(10, before, late) == pytest.approx(100)
    assert later.median > before.median  # though four of five turns were won
    assert math.isnan(compilation.break_even(10, before, later))


def test_a_page_costs_what_the_work_takes_longer_by_it() -> None:
    new, kept = Measurement((2.9, 3.0, 3.5)), Measurement((1.0, 1.0, 1.4))
    assert compilation.page_seconds(new, kept, 1000) == pytest.approx(0.002)
    assert compilation.page_seconds(kept, new, 1000) == 0
    assert compilation.page_seconds(new, kept, 0) == 0


def test_the_gain_farthest_beyond_its_bound_is_the_one_whose_turns_agree() -> None:
    gains = {"sure": Measurement((1.2, 1.2, 1.2)), "noisy": Measurement((0.5, 1.3, 2.0)), "far": Measurement((9.0,))}
    assert compilation.farthest(gains, {"sure": 1.0, "noisy": 1.0}).median == pytest.approx(1.2)


def test_a_tuned_product_computes_the_same() -> None:
    net, x = torch.nn.Linear(16, 32), torch.randn(8, 16)
    tuned, written = compilation.autotuned(net, x)
    assert written in (0, 1)
    with torch.no_grad():
        torch.testing.assert_close(tuned(x), net(x))


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


def test_a_single_call_comes_after_other_work() -> None:
    seen: list[str] = []
    ways = {name: lambda x, name=name: seen.append(name) for name in "ab"}
    found = compilation.after_work(ways, lambda: seen.append("-"), torch.ones(1), repeats=2)
    assert "".join(seen) == 3 * "-a-b"
    assert {name: len(m.samples) for name, m in found.items()} == {"a": 2, "b": 2}
