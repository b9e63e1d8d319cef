"""What compiling is tried on, what it costs, and how often it happens."""

from __future__ import annotations

import json
import math
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils import benchmark

from dlperf.device import synchronize
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.timing import clock, compare
from dlperf.turns import interleave

Step = Callable[[], torch.Tensor]
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def mlp(device: torch.device | str = "cpu", hidden: int = 256) -> nn.Sequential:
    """Returns the classic perceptron 512–256–128–2 with ReLU, of fixed weights, for inference.

    ``hidden`` is the width of its first hidden layer.
    """
    torch.manual_seed(0)
    layers = nn.Linear(512, hidden), nn.ReLU(), nn.Linear(hidden, 128), nn.ReLU(), nn.Linear(128, 2)
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


def branching(x: torch.Tensor) -> torch.Tensor:
    """Returns the squares, doubled or halved: Python needs a value."""
    y = x * x
    if y.mean() > 1:
        return y * 2
    return y / 2


def selecting(x: torch.Tensor) -> torch.Tensor:
    """Returns the same: computes both sides, selects number by number."""
    y = x * x
    return torch.where(y.mean() > 1, y * 2, y / 2)


def conditional(x: torch.Tensor) -> torch.Tensor:
    """Returns the same: the branch is an operation of the graph."""
    y = x * x
    large = y.mean() > 1
    return torch.cond(large, lambda y: y * 2, lambda y: y / 2, (y,))


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


def first_calls(device: torch.device | str = "cpu", batch: int = 64, repeats: int = 5) -> dict[str, list[float]]:
    """Returns the seconds until compiled perceptrons have their first result, in a process that has compiled nothing.

    ``first`` is the first one's. ``further`` are those of perceptrons that differ from it by a few neurons, so that
    nothing compiled fits them: a further graph of the same kind each. ``again`` are the first one's after the
    process was made to forget what it had compiled; it is on disk by then.
    """
    x = torch.ones(batch, 512, device=device)
    model, others = mlp(device), [mlp(device, 256 + more) for more in range(1, repeats + 1)]

    def first(fn: Callable[[torch.Tensor], torch.Tensor]) -> float:
        fn(x)  # what libraries prepare at their first call is no part of compiling
        synchronize(device)
        start = time.perf_counter()
        torch.compile(fn)(x)
        synchronize(device)
        return time.perf_counter() - start

    def again() -> float:
        torch.compiler.reset()
        return first(model)

    return {
        "first": [first(model)],
        "further": [first(other) for other in others],
        "again": [again() for _ in range(repeats)],
    }


def first_calls_in_new_process(
    cache: Path, device: torch.device | str = "cpu", batch: int = 64, repeats: int = 5
) -> dict[str, list[float]]:
    """Returns what `first_calls` measures in a new process that finds what others compiled in the folder ``cache``.

    An empty folder: everything is compiled. The same once more: what lies on disk is used again.
    """
    call = f"compilation.first_calls({str(device)!r}, {batch}, {repeats})"
    command = f"import json; from dlperf.compilers import compilation; print(json.dumps({call}))"
    variables = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", command], env=variables, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


def generated(fn: Callable[..., Any], x: torch.Tensor, **options: Any) -> str:
    """Returns the program that `torch.compile`, with these options, generates of ``fn`` for ``x``."""
    from torch._inductor.utils import run_and_get_code  # part of the compiler, whose import `first_calls` times

    torch.compiler.reset()
    return "".join(run_and_get_code(torch.compile(fn, **options), x)[1])


def kernels(program: str) -> list[str]:
    """Returns the source of the loops in a program that was `generated` for a CPU."""
    return re.findall(r"'''(.*?)'''", program, re.DOTALL)


def in_blocks(
    functions: dict[str, Callable[..., Any]], *args: Any, calls: int = 200, **options: Any
) -> dict[str, Measurement]:
    """Returns the time per call on ``args`` of each function as `compare` does, from blocks of at least ``calls``.

    A compiled function's first calls after other work are several times as long as the next ones (see `after_work`).
    `compare` would choose blocks by them, and measure little else. Raises ValueError for no calls.
    """
    if calls < 1:
        raise ValueError(f"a block has at least one call, got {calls}")
    found = compare({name: partial(_calls, fn, args, calls) for name, fn in functions.items()}, **options)
    return {
        name: replace(m, samples=tuple(s / calls for s in m.samples), calls_per_sample=calls * m.calls_per_sample)
        for name, m in found.items()
    }


def _calls(fn: Callable[..., Any], args: Sequence[Any], calls: int) -> None:
    for _ in range(calls):
        fn(*args)


def after_work(
    functions: dict[str, Callable[..., Any]],
    work: Callable[[], Any],
    *args: Any,
    repeats: int = 15,
    num_threads: int | None = None,
    device: torch.device | str = "cpu",
) -> dict[str, Measurement]:
    """Returns the seconds of one call of each function on ``args`` right after other ``work``, all in turn.

    What the function had left in the caches may be gone by then, as in a program that does more than this.
    ``num_threads`` is as in `compare`.
    """
    now = clock(device)

    def first(fn: Callable[..., Any]) -> float:
        work()
        start = now()
        fn(*args)
        return now() - start

    with benchmark.set_torch_threads(num_threads or torch.get_num_threads()):
        taken = interleave({name: partial(first, fn) for name, fn in functions.items()}, repeats)
    return {name: each.per_call(name, 1, environment(device)) for name, each in taken.items()}


def break_even(seconds: float, before: Measurement, after: Measurement) -> float:
    """Returns after how many calls ``seconds`` of compiling have been won back; infinity if each call loses.

    Both were measured alternately: the gain is the median difference of the pairs. It agrees with
    the median of their ratios on who wins.
    """
    gain = statistics.median(b - a for b, a in before.pairs(after))
    return seconds / gain if gain > 0 else math.inf


def cnn(device: torch.device | str = "cpu", pool: type[nn.Module] = nn.MaxPool2d) -> nn.Sequential:
    """Returns a small convolutional network for 28 × 28 images and ten classes, of fixed weights.

    ``pool`` is how each square of four is made one.
    """
    torch.manual_seed(0)
    features = nn.Conv2d(1, 16, 3), nn.ReLU(), pool(2), nn.Conv2d(16, 32, 3), nn.ReLU(), pool(2)
    return nn.Sequential(*features, nn.Flatten(), nn.Linear(800, 10)).to(device)


def nudge(net: nn.Module, seed: int = 1) -> None:
    """Multiplies each weight by 1, or by 1 ± 2⁻²³: a rounding error's worth."""
    generator, eps = torch.Generator().manual_seed(seed), torch.finfo(torch.float32).eps
    with torch.no_grad():
        for weights in net.parameters():
            signs = torch.randint(-1, 2, weights.shape, generator=generator)
            weights.mul_(1 + eps * signs.to(weights.device))


def training(
    compiled: bool,
    device: torch.device | str = "cpu",
    rate: float = 0.1,
    pool: type[nn.Module] = nn.MaxPool2d,
) -> tuple[Step, nn.Module]:
    """Returns a step of training `cnn`, returning its loss, and the net.

    It learns 64 fixed random images by plain gradient descent with learning
    ``rate``. Forward and backward are compiled together; the update of the
    weights stays eager.
    """
    net = cnn(device, pool)
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    images = torch.randn(64, 1, 28, 28, device=device)
    labels = torch.randint(10, (64,), device=device)
    loss_of: Loss = lambda x, y: F.cross_entropy(net(x), y)
    loss_of = torch.compile(loss_of) if compiled else loss_of

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        # TF32 would hide what we look for; enabled=True keeps cuDNN on
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            loss = loss_of(images, labels)
            loss.backward()
        optimizer.step()
        return loss.detach()

    return step, net
