"""Deployment, whole: packages are compiled, and compute in a C++ program what they do in Python."""

from __future__ import annotations

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


def package(model: nn.Module, x: torch.Tensor, path: Path) -> Path:
    with torch.no_grad():
        exported = torch.export.export(model, (x,))
        return Path(torch._inductor.aoti_compile_and_package(exported, package_path=str(path)))


@needs_compiler
def test_a_package_computes_in_cpp_what_it_does_in_python(model: nn.Module, tmp_path: Path) -> None:
    x = torch.randn(3, 8)
    path = package(model, x, tmp_path / "model.pt2")
    (found,), seconds = deploy.run_in_cpp(path, [x], samples=3, calls=2)
    torch.testing.assert_close(found, model(x).detach(), rtol=0, atol=1e-6)
    torch.testing.assert_close(found, torch._inductor.aoti_load_package(str(path))(x), rtol=0, atol=1e-6)
    assert (len(seconds.samples), seconds.calls_per_sample, seconds.unit) == (3, 2, "s")


@needs_compiler
def test_latencies_are_taken_in_turn(model: nn.Module, tmp_path: Path) -> None:
    x = torch.randn(3, 8)
    threads: list[int] = []
    ways = {"model": lambda x: threads.append(torch.get_num_threads())}
    sides = deploy.latencies(ways, package(model, x, tmp_path / "model.pt2"), x, rounds=2, samples=3)
    assert {name: len(m.samples) for name, m in sides.items()} == {"model": 2, "C++": 2}
    assert sides["model"].pairing_id == sides["C++"].pairing_id
    assert set(threads) == {1}


@needs_compiler
def test_a_package_that_is_none_is_named(tmp_path: Path) -> None:
    with pytest.raises(deploy.DeployError, match=r"none\.pt2"):
        deploy.run_in_cpp(tmp_path / "none.pt2", [torch.ones(1)])


@needs_compiler
def test_what_another_process_can_load_is_known(model: nn.Module, tmp_path: Path) -> None:
    assert deploy.loads(package(model, torch.randn(3, 8), tmp_path / "model.pt2"))
    assert not deploy.loads(tmp_path / "none.pt2")
