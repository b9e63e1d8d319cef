"""What it costs to compile a model: how many graphs are made, and what a process of its own is asked."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from dlperf.compilers import price
from dlperf.models import gpt, steps


def back_end(graph: torch.fx.GraphModule, _: Any) -> Any:
    return graph.forward


@pytest.mark.parametrize(("way", "graphs"), [("whole", 1), ("by_block", 1)])
def test_one_graph_serves_all_blocks(way: str, graphs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.compiler.reset()
    torch._dynamo.utils.counters.clear()
    seen: list[int] = []

    def counted(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        seen.append(len(graph.graph.nodes))
        return back_end(graph, inputs)

    real = torch.compile
    monkeypatch.setattr(torch, "compile", lambda fn, **options: real(fn, backend=counted, **options))
    size = gpt.Size(10, context=8, layers=3, heads=2, width=16)
    step = steps.Step(*_parts(size))
    monkeypatch.setattr(steps, "gpt_step", lambda device: step)
    assert price.first_step(way)[1] == len(seen) == graphs


def _parts(size: gpt.Size) -> tuple[Any, ...]:
    model = gpt.GPT(size)
    characters = torch.zeros(2, size.context, dtype=torch.long)
    return model, torch.optim.AdamW(model.parameters()), characters, characters


def test_new_processes_compile_into_a_folder_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What each is asked, and where; that they then compile there is tested in `tests/long`."""
    asked: dict[str, str] = {}

    def run(command: list[str], env: dict[str, str], **_: Any) -> SimpleNamespace:
        assert command[:2] == [sys.executable, "-c"]
        assert env["TORCHINDUCTOR_COMPILE_THREADS"] == "1"
        asked[env["TORCHINDUCTOR_CACHE_DIR"]] = command[2]
        return SimpleNamespace(stdout="[1.5, 1]\n")

    monkeypatch.setattr(price.subprocess, "run", run)
    assert price.first_steps(tmp_path, "cpu") == {"whole": (1.5, 1), "by_block": (1.5, 1)}
    assert asked.keys() == {str(tmp_path / way) for way in ("whole", "by_block")}
    for way in ("whole", "by_block"):
        assert f"price.first_step('{way}', 'cpu')" in asked[str(tmp_path / way)]
