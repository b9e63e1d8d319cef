"""One network, run in every way there is."""

from __future__ import annotations

import torch

from dlperf import breakdown, profiles
from dlperf.compilers import forward
from dlperf.profiles import Interval


def test_products_and_all_else_of_a_call_make_its_length(monkeypatch) -> None:
    calls: list[str] = []

    def traces(step, device, steps, warm_up):
        assert (device, steps, warm_up) == ("cpu", 1, 2)
        step()
        length = float(len(calls))  # each call is longer than the one before it
        return [[Interval(profiles.STEP, 0, length, "step"), Interval("aten::addmm", 0, length / 4, "kernel")]]

    monkeypatch.setattr(profiles, "traces", traces)
    ways = {name: lambda x, name=name: calls.append(name) for name in "ab"}
    products, rest = forward.products_and_rest(ways, torch.ones(1), repeats=2)
    assert "".join(calls) == 3 * "ab"  # in turn, the first to warm up
    assert products["a"].samples == (3 / 4, 5 / 4)
    assert rest["b"].samples == (4 * 3 / 4, 6 * 3 / 4)
    assert (products["a"] - products["b"]).unit == "s"


def test_the_products_of_a_network_take_time() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
    products, rest = forward.products_and_rest({"eager": net}, torch.ones(4, 8), repeats=1)
    assert products["eager"].median > 0
    assert rest["eager"].median > 0
    assert breakdown.kind("aten::addmm") == "products"
