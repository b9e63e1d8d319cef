"""What compiling is tried on, what it costs, and how often it happens."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from dlperf.measurement import Measurement


def mlp(device: torch.device | str = "cpu") -> nn.Sequential:
    """Returns the classic perceptron 512–256–128–2 with ReLU, of fixed weights, for inference."""
    torch.manual_seed(0)
    layers = nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 2)
    return nn.Sequential(*layers).eval().requires_grad_(False).to(device)


def chain(k: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Returns a function of ``k`` operations in a row that go element by element: times, plus, times, …

    On ``n`` numbers they move 2kn one by one, and 2n as one loop. Values stay between 0 and 1.
    """

    def fn(x: torch.Tensor) -> torch.Tensor:
        for i in range(k):
            x = x + 0.001 if i % 2 else x * 0.999
        return x

    return fn


def graphs(fn: Callable[..., Any], *calls: Sequence[Any], dynamic: bool | None = None) -> list[int]:
    """Returns how many graphs `torch.compile` makes of ``fn`` at each of several calls, each a list of arguments.

    More than one at a call: the graph breaks. One more at a later call: other arguments, compiled anew. The
    back end only counts, so nothing is generated. ``dynamic`` is `torch.compile`'s.
    """
    made: list[Any] = []

    def back_end(graph: torch.fx.GraphModule, _: Any) -> Callable[..., Any]:
        made.append(graph)
        return graph.forward

    compiled = torch.compile(fn, backend=back_end, dynamic=dynamic)
    counts = [0]
    for call in calls:
        compiled(*call)
        counts.append(len(made))
    return [after - before for before, after in pairwise(counts)]


def first_call(batch: int = 64) -> float:
    """Returns the seconds that the compiled perceptron's first call takes in this process, compiling included."""
    compiled, x = torch.compile(mlp()), torch.ones(batch, 512)
    start = time.perf_counter()
    compiled(x)
    return time.perf_counter() - start


def first_call_in_new_process(cache: Path, batch: int = 64) -> float:
    """Returns what `first_call` takes in a new process that finds what others compiled in the folder ``cache``.

    An empty folder: everything is compiled. The same once more: what lies on disk is used again.
    """
    command = [sys.executable, "-c", f"from dlperf import compilation; print(compilation.first_call({batch}))"]
    variables = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache)}
    return float(subprocess.run(command, env=variables, stdout=subprocess.PIPE, text=True, check=True).stdout)


def break_even(seconds: float, before: Measurement, after: Measurement) -> float:
    """Returns after how many calls ``seconds`` of compiling have been won back; infinity if each call loses."""
    gain = before.median - after.median
    return seconds / gain if gain > 0 else math.inf


def cnn(device: torch.device | str = "cpu") -> nn.Sequential:
    """Returns a small convolutional network for 28 × 28 images and ten classes, of fixed weights."""
    torch.manual_seed(0)
    features = nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.MaxPool2d(2)
    return nn.Sequential(*features, nn.Flatten(), nn.Linear(800, 10)).to(device)


def training(
    compiled: bool, device: torch.device | str = "cpu", batch: int = 64
) -> tuple[Callable[[], torch.Tensor], nn.Module]:
    """Returns a step of training `cnn` on fixed random images, which returns its loss, and the network.

    Forward and backward are compiled together; the update of the weights stays eager.
    """
    net = cnn(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    images, labels = torch.randn(batch, 1, 28, 28, device=device), torch.randint(10, (batch,), device=device)
    loss_of: Callable[..., torch.Tensor] = lambda x, y: F.cross_entropy(net(x), y)
    loss_of = torch.compile(loss_of) if compiled else loss_of

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = loss_of(images, labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step, net
