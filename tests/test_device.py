"""Which devices are here: none, CUDA's, Apple's, Intel's."""

from __future__ import annotations

import threading
import types
from collections.abc import Callable

import pytest
import torch

from dlperf.asynchrony import blocking, streams
from dlperf.asynchrony.engine import scheduler
from dlperf.compilers import cuda_graphs
from dlperf.device import describe, has_cuda, is_gpu, needs_cuda, synchronize, try_all_gpus, try_gpu
from dlperf.environment import environment, gpus
from dlperf.hardware import accelerator, inventory
from dlperf.hardware.probe import Unknown
from dlperf.measuring import model
from dlperf.parallel import concurrency, overlap


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


@pytest.mark.parametrize("device", ["cpu", "mps:0", "xpu:1"])
def test_programs_of_streams_and_graphs_say_what_they_need(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name of the device that they were given, before they ask CUDA for anything."""
    monkeypatch.setattr("dlperf.device.describe", lambda device: "this machine's")
    where = torch.device(device)
    calls: list[Callable[[], object]] = [
        lambda: streams.branches(where),
        lambda: blocking.blockers_on_gpu(where, 8),
        lambda: overlap.to_host(where, overlap.Product(), "pipeline"),
        lambda: cuda_graphs.behind_a_gate(lambda: None, 10, where),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=rf"needs a CUDA device, got {device}: this machine's"):
            call()
    assert streams.reused_while_pending(where) is None
    assert blocking.found_waiting(where) is None


@pytest.mark.parametrize("kind", ["mps", "xpu"], indirect=True)
def test_an_engine_waits_for_a_gpu_without_streams(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that the device was given: PyTorch offers no stream of its own there."""
    seen: list[object] = []
    monkeypatch.setattr(scheduler, "synchronize", seen.append)
    with scheduler.Scheduler() as engine:
        assert engine.devices == [f"{kind}:0", f"{kind}:1"]
        engine.enqueue(lambda: seen.append("operation"), device=f"{kind}:1")
    assert seen == ["operation", f"{kind}:1"]


def test_an_engine_without_cuda_asks_cuda_for_no_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """With Apple's GPU even ``torch.cuda.stream(None)`` fails, since PyTorch asks that GPU for its number."""

    def refuse(*_: object) -> None:
        raise AttributeError("module 'torch.mps' has no attribute 'current_device'")

    monkeypatch.setattr(torch.cuda, "stream", refuse)
    done = threading.Event()
    with scheduler.Scheduler(["cpu"]) as engine:
        engine.enqueue(done.set)
        try:
            assert done.wait(60)
        finally:
            if not done.is_set():  # nobody would ever come to what was enqueued
                engine._pending.clear()


def test_what_any_gpu_can_do_asks_for_no_cuda(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_gpu(kind)
    assert not is_gpu("cpu")
    assert model.uncached(kind) == 2**28
    assert concurrency.two_devices() == [f"{kind}:0", f"{kind}:1"]
    if kind != "cuda":
        assert [part.kind for part in inventory.accelerators()] == ["gpu", "gpu"]
        with pytest.raises(Unknown, match="pinned memory need a CUDA device, and this is "):
            accelerator.crossings([1], torch.device(kind, 1))
    with pytest.raises(Unknown, match="there is no GPU"):
        accelerator.crossings([1], torch.device("cpu"))
