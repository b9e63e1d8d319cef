"""Which devices are here: none, CUDA's, Apple's, Intel's."""

from __future__ import annotations

import types

import pytest
import torch

from dlperf.device import describe, has_cuda, needs_cuda, synchronize, try_all_gpus, try_gpu
from dlperf.environment import environment, gpus


def test_there_is_always_a_device() -> None:
    devices = try_all_gpus()
    assert devices
    assert try_gpu(0) == devices[0]
    assert try_gpu(10_000) == torch.device("cpu")
    with pytest.raises(ValueError, match="-1"):
        try_gpu(-1)
    synchronize(*devices)


@pytest.fixture(params=["cuda", "mps", "xpu"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A PyTorch that was built for two accelerators of a kind, and has them."""
    module = types.SimpleNamespace(get_device_name=lambda device: f"{device.type} number {device.index}")
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda *_: torch.device(request.param))
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)
    monkeypatch.setattr(torch, "get_device_module", lambda device: module)
    monkeypatch.setattr(torch.backends.mps, "get_name", lambda: "Apple M5", raising=False)
    return str(request.param)


def test_an_accelerator_of_any_kind_is_a_gpu(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[object] = []
    monkeypatch.setattr(torch.accelerator, "synchronize", waited.append)
    both = [torch.device(kind, 0), torch.device(kind, 1)]
    assert try_all_gpus() == both
    assert try_gpu(1) == both[1]
    assert try_gpu(2) == torch.device("cpu")
    synchronize()
    synchronize("cpu")
    synchronize(f"{kind}:1")
    assert waited == [*both, both[1]]


def test_an_accelerator_has_a_name(kind: str) -> None:
    name = "Apple M5" if kind == "mps" else f"{kind} number 1"
    assert describe(torch.device(kind, 1)) == name
    assert gpus()[1] == name
    assert environment(torch.device(kind, 1))["device"] == name


def test_built_for_an_accelerator_that_is_not_there(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 0)
    assert try_all_gpus() == [try_gpu()] == [torch.device("cpu")]
    assert gpus() == []


def test_what_needs_cuda_says_so_elsewhere(kind: str) -> None:
    assert has_cuda(f"{kind}:0") == (kind == "cuda")
    if kind == "cuda":
        assert needs_cuda("cuda:1", "a graph") == torch.device("cuda", 1)
    else:
        with pytest.raises(ValueError, match=rf"a graph of launches needs a CUDA device, got {kind}:0: "):
            needs_cuda(try_gpu(), "a graph of launches")
    with pytest.raises(ValueError, match=r"got cpu: CPU, \d+ thread"):
        needs_cuda("cpu", "a graph of launches")
