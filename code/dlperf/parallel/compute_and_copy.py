"""A classic experiment, products and copies of their results, run so that overlap and a faster copy can be told apart.

The chapter *Automatic parallelism* tells the story.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from time import perf_counter
from typing import Any, Protocol

import torch

from dlperf.asynchrony.engine import Variable
from dlperf.counters import pages
from dlperf.device import has_cuda, needs_cuda
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.spans import at_once
from dlperf.turns import InterleavedSamples, middle

PUBLISHED = {
    "PyTorch": (0.5119, 2.3757, 1.6683),
    "PyTorch, 2022": (0.5065, 2.4192, 1.9563),
    "PyTorch, 2023": (0.4656, 2.3125, 1.6907),
    "MXNet, 2022": (0.5433, 2.3712, 2.4596),
}
"""Seconds for 50 products of 4000 rows on a GPU, for copying the results to the CPU, and for both at once.

Source: Zhang et al., Dive into Deep Learning, section *Automatic Parallelism*, and its notebooks with outputs.
"""

Step = tuple[str, int]
"""``("product", i)`` or ``("copy", i)``: compute result ``i``, or copy it."""


class Ran(Protocol):
    """What `overlapped` needs to know of an operation: its name, and when it ran, in seconds."""

    name: str
    start: float
    end: float


@dataclass(frozen=True)
class Span:
    """An operation on a GPU, as far as a timeline shows it; times in seconds."""

    name: str
    device: str
    enqueued: float
    start: float
    end: float


@dataclass(frozen=True)
class Trial:
    """A run: its ``seconds``, the ``pages`` of memory that the system supplied for it, and what ran when."""

    seconds: float
    pages: int
    operations: Sequence[Any]

    @property
    def overlap(self) -> float:
        """The seconds during which both a product and a copy ran."""
        return overlapped(self.operations)

    @property
    def hidden(self) -> float:
        """Which share that is of the shorter of the two: of all that could be hidden."""
        busy = [sum(op.end - op.start for op in self.operations if op.name == name) for name in ("product", "copy")]
        return self.overlap / min(busy)


def overlapped(operations: Iterable[Ran], first: str = "product", second: str = "copy") -> float:
    """Returns the seconds during which an operation called ``first`` and one called ``second`` were both running."""
    ran = list(operations)
    return at_once([(op.start, op.end) for op in ran if op.name == name] for name in (first, second))


def bounds(products: Measurement, copies: Measurement) -> tuple[Measurement, Measurement]:
    """Returns what both together take at least and at most, in seconds: the longer of the two, and their sum."""
    return products.larger(copies), products + copies


def products_first(count: int) -> list[Step]:
    """Returns the steps of the classic: all products, then all copies."""
    return [(name, i) for name in ("product", "copy") for i in range(count)]


def each_then_its_copy(count: int) -> list[Step]:
    """Returns the same steps in another order: each product is followed by its copy."""
    return [(name, i) for i in range(count) for name in ("product", "copy")]


class Results:
    """``count`` products, each ``(n, n)``, of matrices ``(n, depth)`` and ``(depth, n)``, and memory for their copies.

    A result has more than 32 MiB by default: for so much, the C library asks the system each time. And there is
    little to compute: all products should take less time than the copies into new memory.
    """

    def __init__(self, count: int = 6, n: int = 3000, depth: int = 2, device: torch.device | str = "cpu") -> None:
        self.count, self.pinned = count, has_cuda(device)
        self.left = torch.rand(count, n, depth, device=device)
        self.right = torch.rand(depth, n, device=device)
        self.products = [torch.zeros(n, n, device=device) for _ in range(count)]
        self.kept = [torch.zeros(n, n, pin_memory=self.pinned) for _ in range(count)]  # zeros: its pages are there
        self.copies: list[torch.Tensor | None] = [None] * count

    def product(self, i: int) -> None:
        """Computes result ``i``, always into the same memory."""
        torch.mm(self.left[i], self.right, out=self.products[i])

    def copy_new(self, i: int) -> None:
        """Copies result ``i`` into new memory, as ``to("cpu")`` does on a GPU, which waits for it."""
        self.copies[i] = self.products[i].to("cpu", copy=True)

    def copy_kept(self, i: int) -> None:
        """Copies result ``i`` into memory that is there and, for a GPU, pinned; the copy is only enqueued."""
        self.copies[i] = self.kept[i].copy_(self.products[i], non_blocking=True)

    def copy_pinned(self, i: int) -> None:
        """Copies result ``i`` of a GPU into new memory, which ``non_blocking`` makes PyTorch allocate pinned."""
        self.copies[i] = self.products[i].to("cpu", non_blocking=True)

    def forget(self) -> None:
        """Frees the copies; pinned memory goes back to the system, where PyTorch would keep it for the next copy."""
        self.copies = [None] * self.count
        if self.pinned:
            torch.cuda.synchronize(self.right.device)
            with torch.cuda.device(self.right.device):
                getattr(torch._C, "_host_emptyCache", lambda: None)()


@contextmanager
def small_pages() -> Iterator[None]:
    """Keeps Linux from giving this process huge pages, of which one costs a single fault for 512 small ones."""
    process = ctypes.CDLL(None) if sys.platform == "linux" else None
    before = max(0, process.prctl(42, 0, 0, 0, 0)) if process else 0  # PR_GET_THP_DISABLE
    if process:
        process.prctl(41, 1, 0, 0, 0)  # PR_SET_THP_DISABLE
    try:
        yield
    finally:
        if process:
            process.prctl(41, before, 0, 0, 0)


Copy = Callable[[int], None]


def run(
    engine: Any,
    results: Results,
    steps: Sequence[Step],
    copy: Copy,
    queues: int = 1,
) -> Trial:
    """Returns what the steps took on an engine.

    With one of ``queues``, products and copies wait in that of the first
    device. With two, the copies have that of the second: a copy follows
    its product and nothing else.
    """
    results.forget()
    values = [Variable() for _ in range(results.count)]
    compute, transfer = engine.devices[0], engine.devices[queues - 1]
    before, start, ran = pages(), perf_counter(), []
    for name, i in steps:
        if name == "product":
            work = partial(results.product, i)
            op = engine.enqueue(work, [], [values[i]], compute, name)
        else:
            work = partial(copy, i)
            op = engine.enqueue(work, [values[i]], [], transfer, name)
        ran.append(op)
    engine.waitall()
    return Trial(perf_counter() - start, pages() - before, ran)


def run_on_gpu(results: Results, steps: Sequence[Step], copy: Copy, streams: int = 1) -> Trial:
    """Returns the same on the GPU where the results are: in one stream, or with a second one for the copies.

    Times of operations are the GPU's, from events. Nothing is freed before the end, when all streams have been
    waited for: so no tensor needs `record_stream`, and the next run may write the products again.
    """
    device = needs_cuda(results.right.device, "a run in streams")
    results.forget()
    compute = torch.cuda.current_stream(device)
    lanes = {"product": compute, "copy": torch.cuda.Stream(device) if streams > 1 else compute}
    mark = lambda lane: lane.record_event(torch.cuda.Event(enable_timing=True))
    computed: dict[int, torch.cuda.Event] = {}
    ran = []
    torch.cuda.synchronize(device)
    before, start = pages(), perf_counter()
    zero = mark(compute)
    for name, i in steps:
        lane = lanes[name]
        if name == "copy" and i in computed:
            lane.wait_event(computed[i])  # this product, not all that the other stream has been given
        enqueued, begin = perf_counter(), mark(lane)
        with torch.cuda.stream(lane):
            (results.product if name == "product" else copy)(i)
        end = mark(lane)
        if name == "product":
            computed[i] = end
        ran.append((name, enqueued, begin, end))
    torch.cuda.synchronize(device)
    seconds, faults = perf_counter() - start, pages() - before
    at = lambda event: start + zero.elapsed_time(event) / 1e3
    rows = {name: f"stream {1 + (lanes[name] is not compute)}" for name in lanes}
    return Trial(seconds, faults, [Span(name, rows[name], t, at(a), at(b)) for name, t, a, b in ran])


def measured(
    trials: InterleavedSamples[Trial], what: str = "seconds", device: torch.device | str = "cpu"
) -> Measurement:
    """Returns the ``seconds``, the ``overlap``, the share ``hidden``, or the ``pages`` of trials on ``device``.

    Raises ValueError if ``what`` is none of these.
    """
    units = {"seconds": "s", "overlap": "s", "hidden": "1", "pages": "1"}
    if what not in units:
        raise ValueError(f"a trial tells its {', '.join(units)}, not its {what}")
    return trials.measurement(attrgetter(what), units[what], what, environment=environment(device))


def at_work(trials: InterleavedSamples[Trial], name: str) -> Measurement:
    """Returns how many seconds the operations of this ``name`` took in each of the trials, all together."""
    of = lambda trial: sum(op.end - op.start for op in trial.operations if op.name == name)
    return trials.measurement(of, "s", name, environment=environment("cpu"))


def typical(trials: Sequence[Trial]) -> Sequence[Any]:
    """Returns the operations of the trial whose time is the median."""
    return middle(trials, attrgetter("seconds")).operations
