"""Measure a model's compile time: its first compiled training step in a new process, as a whole or block by block."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from dlperf.device import synchronize
from dlperf.environment import cores
from dlperf.models import steps
from dlperf.models.gpt import GPT


def whole(model: GPT) -> None:
    """Has the model compiled, when it is first called, as one graph."""
    model.compile()


def by_block(model: GPT) -> None:
    """Has each block compiled; they are alike, so one graph serves all."""
    for block in list(model.blocks)[:-1]:  # the last is a LayerNorm
        block.compile()


WAYS: dict[str, Callable[[Any], None]] = {"whole": whole, "by_block": by_block}


def first_step(way: str, device: torch.device | str = "cpu") -> tuple[float, int]:
    """Returns the seconds of the GPT's first compiled training step, and how many graphs were made.

    ``way`` is one of `WAYS`. An eager step comes before, for what libraries prepare at their first call is no part of
    compiling.
    """
    step = steps.gpt_step(device)
    step()
    synchronize(device)
    WAYS[way](step.model)
    start = time.perf_counter()
    step()
    synchronize(device)
    taken = time.perf_counter() - start
    from torch._dynamo.utils import counters  # part of the compiler, whose import has been timed

    return taken, counters["stats"]["unique_graphs"]


def first_steps(folder: Path, device: torch.device | str = "cpu") -> dict[str, tuple[float, int]]:
    """Returns for each of `WAYS` what `first_step_in_new_process` does, with a folder of its own in ``folder``.

    The processes run side by side, as far as there are cores.
    """
    with ThreadPoolExecutor(min(cores(), len(WAYS))) as pool:
        found = {way: pool.submit(first_step_in_new_process, way, folder / way, device) for way in WAYS}
        return {way: each.result() for way, each in found.items()}


def first_step_in_new_process(way: str, cache: Path, device: torch.device | str = "cpu") -> tuple[float, int]:
    """Returns what `first_step` does in a new process that finds what others compiled in the folder ``cache``.

    One thread compiles, for the number of threads that this process has: for another, nothing on disk is of use.
    An empty folder: everything is compiled. The same once more: what lies there is used again.
    """
    call = f"json.dumps(price.first_step({way!r}, {str(device)!r}))"
    variables = {"TORCHINDUCTOR_CACHE_DIR": str(cache), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", f"import json; from dlperf.compilers import price; print({call})"],
        env=os.environ | variables,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    taken, graphs = json.loads(done.stdout)
    return taken, graphs
