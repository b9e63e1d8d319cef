"""Measure the memory held by queued operations when a training loop runs ahead, with a bounded or unbounded queue.

The chapter *Asynchronous computation* tells the story.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from torch import nn

from dlperf import fresh_process, turns
from dlperf.asynchrony.engine import Engine
from dlperf.device import has_cuda
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.turns import InterleavedSamples, interleave, new_pairing_id

BATCH, FEATURES = 1024, 512
"""One batch: so many examples of so many float32 numbers, two mebibytes."""

BATCH_BYTES = 4 * BATCH * (FEATURES + 1)
"""What a batch takes with its labels."""

UNBOUNDED = float("inf")
"""The depth of a queue that takes everything."""

M_MMAP_THRESHOLD = -3
"""glibc's name for the size from which a block is the operating system's own, and goes back when it is freed."""


def resident_bytes() -> int:
    """Returns the bytes of main memory that this process occupies now.

    Raises OSError where the system does not tell; Linux and macOS do.
    """
    if sys.platform == "darwin":
        usage = (ctypes.c_uint64 * 12)()  # Apple's rusage_info_v0; its physical footprint is the tenth word
        if ctypes.CDLL(None).proc_pid_rusage(os.getpid(), 0, usage):
            raise OSError("macOS does not tell this process its memory")
        return usage[9]
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def occupied(device: torch.device | str) -> int:
    """Returns the bytes that are occupied now: by tensors on a GPU, or by this process in main memory."""
    device = torch.device(device)
    return torch.cuda.memory_allocated(device) if has_cuda(device) else resident_bytes()


def return_free_memory() -> None:
    """Makes the C library give freed memory back to the operating system, now and for large blocks ever after.

    Otherwise a process keeps what it once had, and its size says little about what is in use. Nothing
    happens where the library is not glibc.
    """
    gc.collect()
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_THRESHOLD, 2**16)
        libc.malloc_trim(0)


def perceptron(*widths: int, device: torch.device | str = "cpu", seed: int = 0) -> nn.Sequential:
    """Returns a multilayer perceptron from ``FEATURES`` inputs through ``widths``, with ReLU between the layers."""
    torch.manual_seed(seed)
    sizes = [FEATURES, *widths]
    layers = [m for a, b in pairwise(sizes) for m in (nn.Linear(a, b), nn.ReLU())]
    return nn.Sequential(*layers[:-1]).to(device)


def training_step(net: nn.Module, rate: float = 0.01) -> Callable[..., None]:
    """Returns ``step(loss, x, y)``: forward, squared loss, backward and update; ``loss`` receives the value."""
    optimizer = torch.optim.SGD(net.parameters(), lr=rate)

    def step(loss: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> None:
        optimizer.zero_grad()
        error = ((net(x)[:, 0] - y) ** 2).mean()
        error.backward()
        optimizer.step()
        loss.copy_(error.detach())

    return step


def batches(number: int, device: str = "cpu", seed: int = 0) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yields ``number`` batches of normal ``x`` of shape (1024, 512) and ``y`` of ones, drawn when asked for."""
    generator = torch.Generator(device).manual_seed(seed)
    for _ in range(number):
        yield torch.randn(BATCH, FEATURES, generator=generator, device=device), torch.ones(BATCH, device=device)


@dataclass(frozen=True)
class Run:
    """One training with ``number`` batches, of which at most ``depth`` may be in the queue.

    Seconds until the loop ``returned`` and until all was ``finished``, the last ``loss``, and two peaks in
    bytes: ``process`` is the growth of `occupied`, ``live`` what the engine's arrays held.
    """

    number: int
    depth: float
    returned: float
    finished: float
    process: int
    live: int
    loss: float
    history: tuple[tuple[float, int], ...]

    @property
    def ratio(self) -> float:
        """What share of the whole time the loop took: without a bound t₁/t₂, if the back end is the slower side."""
        return self.returned / self.finished


class Peak:
    """The growth in ``bytes`` of what is `occupied` during a block, at its highest.

    For a GPU PyTorch keeps the peak itself. At main memory one has to look: every millisecond.
    """

    def __init__(self, device: torch.device | str) -> None:
        self.device, self.bytes = torch.device(device), 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._end.wait(1e-3):
            self.bytes = max(self.bytes, occupied(self.device) - self.base)

    def __enter__(self) -> Peak:
        return_free_memory()
        self.base = occupied(self.device)
        if has_cuda(self.device):
            torch.cuda.reset_peak_memory_stats(self.device)
        else:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if has_cuda(self.device):
            self.bytes = torch.cuda.max_memory_allocated(self.device) - self.base
        else:
            self._end.set()
            self._thread.join()


def train(
    engine: Engine,
    wait: bool,
    widths: tuple[int, ...],
    number: int,
    device: str = "cpu",
) -> Run:
    """Returns the run of a loop that enqueues one operation per batch.

    If ``wait``, it reads the loss each time; else it waits only at the end.
    """
    engine.enqueue(lambda: _prepare(widths, device), device=device)
    engine.waitall()
    with Peak(device) as peak:
        step = training_step(perceptron(*widths, device=device))
        loss = engine.array(torch.zeros(()), device)
        start = perf_counter()
        for x, y in batches(number, device):
            inputs = engine.array(x, device), engine.array(y, device)
            engine.update(step, loss, *inputs, name="step")
            del inputs
            if wait:
                loss.item()
        returned = perf_counter() - start
        engine.waitall()
        finished = perf_counter() - start
    history = tuple(engine.live_bytes())
    live = max(size for _, size in history)
    return Run(
        number=number,
        depth=engine.depth,
        returned=returned,
        finished=finished,
        process=peak.bytes,
        live=live,
        loss=loss.item(),
        history=history,
    )


def _prepare(widths: tuple[int, ...], device: str) -> None:
    """Leaves the front end a core to itself, and takes a step: libraries keep memory for a thread and its stream."""
    torch.set_num_threads(1)
    step = training_step(perceptron(*widths, device=device))
    step(torch.zeros((), device=device), *next(batches(1, device)))


def trials(depths: Iterable[float], repeats: int = 5, **options: Any) -> dict[str, InterleavedSamples[Run]]:
    """Returns the runs that wait for each batch, ``synchronous``, and those of each queue ``depth``, taken in turn.

    ``options`` are those of `train`.
    """
    torch.set_num_threads(1)
    gc.freeze()  # modules stay: the collector need not look through them before each run
    engines = {"synchronous": UNBOUNDED} | {f"depth {depth}": depth for depth in depths}

    def run(name: str, **options: Any) -> Run:
        with Engine([options.get("device", "cpu")], engines[name]) as engine:
            return train(engine, wait=name == "synchronous", **options)

    for name in engines:
        run(name, **options | {"number": 10})  # warms up
    sides = {name: partial(run, name, **options) for name in engines}
    return interleave(sides, repeats, warm_up=0)


def in_fresh_process(**options: Any) -> dict[str, InterleavedSamples[Run]]:
    """Returns `trials` with ``options`` run in a new process, whose memory nothing else has used.

    Raises RuntimeError with what the process wrote if it fails.
    """
    given = ", ".join(f"{name}={value!r}" for name, value in options.items())
    found = fresh_process.evaluate(
        f"{{name: [dataclasses.asdict(run) for run in runs] for name, runs in b.trials({given}).items()}}",
        "import dataclasses, dlperf.asynchrony.backlog as b; inf = b.UNBOUNDED",
    )
    shared = new_pairing_id()
    return {name: InterleavedSamples((Run(**run) for run in runs), shared) for name, runs in found.items()}


def taken(runs: InterleavedSamples[Run], what: str) -> Measurement:
    """Returns one figure of several runs: ``returned`` or ``finished`` in seconds, ``process`` or ``live`` in bytes.

    Raises ValueError if ``what`` is none of these.
    """
    units = {"returned": "s", "finished": "s", "process": "B", "live": "B"}
    if what not in units:
        raise ValueError(f"a run tells its {', '.join(units)}, not its {what}")
    return runs.measurement(attrgetter(what), units[what], what, environment=environment())


def ahead(clocked: InterleavedSamples[Run], number: int) -> Measurement:
    """Returns how many of ``number`` batches a queue without a bound holds beside the one at work.

    By t₁/t₂ of the runs that were ``clocked``: when all are put in, the back end has done that share of them.
    """
    return clocked.measurement(lambda run: number * (1 - run.ratio) - 1, "1", "ahead")


def predicted(
    clocked: InterleavedSamples[Run], synchronous: InterleavedSamples[Run], number: int, depth: float
) -> Measurement:
    """Returns the bytes that ``process`` should grow by with a queue of ``depth``, in turn with ``synchronous`` runs.

    That is their median, and as many batches as the queue is deep; without a bound the median of those `ahead`.
    """
    base = taken(synchronous, "process")
    more = ahead(clocked, number).median if depth == UNBOUNDED else depth
    return replace(base, samples=(base.median + BATCH_BYTES * more,) * len(base.samples), description="predicted")


def more_batches(runs: InterleavedSamples[Run], synchronous: InterleavedSamples[Run]) -> Measurement:
    """Returns by how many batches ``process`` grew more than in the median when ``synchronous``."""
    base = taken(synchronous, "process").median
    return runs.measurement(lambda run: (run.process - base) / BATCH_BYTES, "1", "more batches")


def speedup(runs: InterleavedSamples[Run]) -> Measurement:
    """Returns how much faster these runs should be than those that wait each time: 1 + t₁/t₂, from their clocks.

    The loop returned after n t₁, and all was finished after n t₂, since the back end is the slower side.
    """
    return runs.measurement(lambda run: 1 + run.returned / run.finished, "1", "speedup")


def middle(runs: Iterable[Run]) -> Run:
    """Returns the run whose training took the median time, the later of two."""
    return turns.middle(runs, attrgetter("finished"))
