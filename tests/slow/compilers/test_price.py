"""What it costs to compile a model, in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from dlperf.compilers import price
from dlperf.environment import compiler
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


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler")
def test_new_processes_compile_into_a_folder_each(tmp_path: Path) -> None:
    found = price.first_steps(tmp_path)
    assert list(found) == ["whole", "by_block"]
    for way, (seconds, graphs) in found.items():
        assert seconds > 0
        assert graphs == 1
        assert any((tmp_path / way).rglob("*.so"))
