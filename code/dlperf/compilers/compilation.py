"""Functions to compile, counts of graphs that `torch.compile` makes, timing of calls, and break-even points."""

from __future__ import annotations

import contextlib
import io
import math
import statistics
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.utils import benchmark

from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.timing import clock, compare
from dlperf.turns import interleave


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


def autotuned(net: nn.Module, x: Any) -> tuple[Callable[..., Any], int]:
    """Returns the network compiled for ``x``, and how many products are in
    code that the compiler wrote itself: it has timed that and the library's.

    Its weights are frozen, or a CPU's compiler would not try.
    """
    torch._dynamo.utils.counters.clear()
    inductor = torch._inductor.config
    with torch.no_grad(), inductor.patch(freezing=True), _silent():
        fn = torch.compile(net, mode="max-autotune-no-cudagraphs")
        fn(x)
    counted = torch._dynamo.utils.counters["inductor"]
    return fn, counted["cpp_templated_kernel_counter"]


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keeps to itself what the compiler tells of its timing, and its warnings of its own use of old functions."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


def in_blocks(
    functions: dict[str, Callable[..., Any]], *args: Any, calls: int = 200, **options: Any
) -> dict[str, Measurement]:
    """Returns the time per call on ``args`` of each function as `compare` does, from blocks of at least ``calls``.

    A compiled function's first calls after other work are several times as long as the next ones (see `after_work`).
    `compare` would choose blocks by them, and measure little else. Raises ValueError if ``calls`` is below 1.
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


def page_seconds(new: Measurement, kept: Measurement, pages: float) -> float:
    """Returns what one new page of memory costs in seconds: the same work with so many new pages, and with none.

    0 where the difference is lost in the noise, or where no page was counted.
    """
    return max(0.0, new.median - kept.median) / pages if pages > 0 else 0.0


def break_even(seconds: float, before: Measurement, after: Measurement) -> float:
    """Returns after how many calls ``seconds`` of compiling have been won back; infinity if each call loses.

    ``before`` is what one would run without compiling. Both were measured alternately: the gain is the median
    difference of the pairs, which agrees with the median of their ratios on who wins. NaN where it is not told who
    wins: the middle half of the differences has both signs, or their median another one than the medians' difference.
    """
    low, high = (before - after).quartiles
    gain = statistics.median(b - a for b, a in before.pairs(after))
    if low <= 0 < high or (gain > 0) != (before.median > after.median):
        return math.nan
    return seconds / gain if gain > 0 else math.inf


def in_words(calls: float) -> str:
    """Returns what a table says of a break-even: a whole number of calls, ∞, or that it is unclear."""
    return "unclear" if math.isnan(calls) else "∞" if math.isinf(calls) else f"{calls:.0f}"


def farthest(gains: Mapping[str, Measurement], bounds: Mapping[str, float]) -> Measurement:
    """Returns the gain, over its bound, that is most surely beyond it: the largest lower quartile of all."""
    return max((gains[name] / bound for name, bound in bounds.items()), key=lambda reached: reached.quartiles[0])
