"""Deployment: what leaves Python computes what stayed there."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest
import torch
from torch import nn

from dlperf.compilers import deploy
from dlperf.environment import compiler

needs_compiler = pytest.mark.skipif(compiler() is None, reason="no C++ compiler")


@pytest.fixture
def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 2)).eval()


@needs_compiler
def test_a_package_computes_in_cpp_what_it_does_in_python(model: nn.Module, tmp_path: Path) -> None:
    x = torch.randn(3, 8)
    path = deploy.package(model, [x], tmp_path / "model.pt2")
    (found,), seconds = deploy.run_in_cpp(path, [x], samples=3, calls=2)
    torch.testing.assert_close(found, model(x).detach(), rtol=0, atol=1e-6)
    torch.testing.assert_close(found, torch._inductor.aoti_load_package(str(path))(x), rtol=0, atol=1e-6)
    assert (len(seconds.samples), seconds.calls_per_sample, seconds.unit) == (3, 2, "s")


@needs_compiler
def test_latencies_are_taken_in_turn(model: nn.Module, tmp_path: Path) -> None:
    x = torch.randn(3, 8)
    threads: list[int] = []
    ways = {"model": lambda x: threads.append(torch.get_num_threads())}
    sides = deploy.latencies(ways, deploy.package(model, [x], tmp_path / "model.pt2"), x, rounds=2, samples=3)
    assert {name: len(m.samples) for name, m in sides.items()} == {"model": 2, "C++": 2}
    assert sides["model"].turns == sides["C++"].turns
    assert set(threads) == {1}


@needs_compiler
def test_a_package_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(deploy.DeployError, match=r"none\.pt2"):
        deploy.run_in_cpp(tmp_path / "none.pt2", [torch.ones(1)])


class Twice(nn.Module):
    """A class that no other process knows."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * x


def test_an_exported_model_needs_no_class(tmp_path: Path) -> None:
    path = tmp_path / "twice.pt2"
    torch.export.save(torch.export.export(Twice(), (torch.ones(3),)), path)
    assert deploy.run_without_class(path, [torch.arange(3.0)]).tolist() == [0, 2, 4]
    with pytest.raises(deploy.DeployError, match=r"none\.pt2"):
        deploy.run_without_class(tmp_path / "none.pt2", [])


def test_a_pickled_model_needs_its_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "whole.pt"
    torch.save(nn.Identity(), path)
    assert deploy.run_pickled(path, [torch.arange(3.0)]).tolist() == [0, 1, 2]
    elsewhere = types.ModuleType("elsewhere")
    elsewhere.Twice = type("Twice", (Twice,), {"__module__": "elsewhere"})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "elsewhere", elsewhere)
    torch.save(elsewhere.Twice(), path)
    with pytest.raises(deploy.DeployError, match="elsewhere"):
        deploy.run_pickled(path, [torch.arange(3.0)])
