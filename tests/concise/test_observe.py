"""What is made of profiled events and of files, as far as no process starts."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.profiler import profile

from dlperf.concise import observe
from dlperf.concise.memory import Memory
from dlperf.concise.observe import Observer, Trace


def test_events_are_parts_messages_or_nothing() -> None:
    events = [
        ("gloo:all_reduce", 5.0, 7.0),
        ("backward", 3.0, 6.0),
        ("aten::mm", 1.0, 2.0),
        ("forward", 1.0, 3.0),
        ("gloo:all_reduce", 4.0, 5.0),
    ]
    parts, messages = observe.spans_of(events)
    assert parts == {"forward": [(1.0, 3.0)], "backward": [(3.0, 6.0)], "update": []}
    assert messages == {"all_reduce": [(4.0, 5.0), (5.0, 7.0)]}


def test_a_trace_comes_back_from_its_file(tmp_path: Path) -> None:
    traces = [
        Trace(rank, {"forward": [(1.0, 1.5), (2.0, 2.25)]}, {}, [3.0, 1.0, 2.0], 10.5, Memory(1, 2, 3, 4))
        for rank in (0, 1, 10)
    ]
    for trace in reversed(traces):
        (tmp_path / f"{trace.rank}.json").write_text(json.dumps(asdict(trace)), encoding="utf-8")
    found = observe.read(tmp_path)
    assert [trace.rank for trace in found] == [0, 1, 10]
    assert found[0].memory == Memory(1, 2, 3, 4)
    assert found[0].step == 2.0
    assert found[0].length("forward") == 0.75


def test_a_script_of_too_few_steps_is_no_trace() -> None:
    with profile() as profiled:
        observer = Observer(profiled)
    with pytest.raises(RuntimeError, match=f"at least {observe.STEPS} steps to be observed, this one took 0"):
        observer.trace()


def test_hooks_see_the_outermost_module_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with profile() as profiled:
        observer = Observer(profiled)
        begun: list[str] = []
        monkeypatch.setattr(observer, "_begin", begun.append)
        monkeypatch.setattr(observer, "_end", lambda part: begun.append(f"no {part}"))
        network = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        for module in (network, *network):  # as the hooks of all modules do
            module.register_forward_pre_hook(observer._enter_module)
            module.register_forward_hook(observer._leave_module)
        network(torch.zeros(1, 2))
    assert begun == ["forward", "no forward"]


def test_only_a_host_counts_what_it_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observe.traffic, "sent", lambda: 17)
    assert observe.bytes_sent() == []
    monkeypatch.setenv(observe.ON_HOST, "1")
    assert observe.bytes_sent() == [17]
