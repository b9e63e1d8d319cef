"""Computing and communicating at once: work cut into chunks, each sent while the next is computed.

The chapter *Automatic parallelism* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from statistics import median
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist

from dlperf import spans
from dlperf.device import needs_cuda
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.network import Network, process_group
from dlperf.turns import interleave

Wait = Callable[[], Any]
Compute = Callable[[int], Any]
Transfer = Callable[[int, Any], Wait]


def pipeline(compute: Compute, transfer: Transfer, chunks: int) -> None:
    """Computes chunks and transfers each while the next is computed.

    ``compute(i)`` returns chunk ``i``. ``transfer(i, chunk)`` begins to
    send it, and returns at once a function that waits until it is sent.
    """
    waits = [transfer(i, compute(i)) for i in range(chunks)]
    for wait in waits:
        wait()


def without_overlap(compute: Compute, transfer: Transfer, chunks: int) -> None:
    """Does the same one by one: waits for each chunk before it computes the next."""
    for i in range(chunks):
        transfer(i, compute(i))()


def predict(compute: float, transfer: float, chunks: int) -> float:
    """Returns the seconds of `pipeline` if all chunks take ``compute`` and ``transfer`` seconds in total.

    The first chunk is computed and the last one sent with nothing beside it; in between the slower side rules.
    It is the makespan of a flow shop with two machines and equal jobs. Source: Johnson, Optimal two- and
    three-stage production schedules with setup times included, 1954. Raises ValueError if ``chunks`` is below 1.
    """
    if chunks < 1:
        raise ValueError(f"a pipeline has at least one chunk, got {chunks}")
    return (compute + transfer + (chunks - 1) * max(compute, transfer)) / chunks


@dataclass(frozen=True)
class Product:
    """A ``(rows, inner)`` by ``(inner, columns)`` product of float32, whose rows are cut into equal ``chunks``.

    Raises ValueError where they cannot be.
    """

    rows: int = 4096
    inner: int = 512
    columns: int = 1024
    chunks: int = 1

    def __post_init__(self) -> None:
        if self.chunks < 1 or self.rows % self.chunks:
            raise ValueError(f"{self.rows} rows cannot be cut into {self.chunks} equal chunks")

    @property
    def bytes(self) -> int:
        """The size of the result."""
        return 4 * self.rows * self.columns

    def operands(self, device: torch.device | str = "cpu") -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Returns both factors and memory for the result; the first and the last cut into chunks."""
        generator = torch.Generator(device).manual_seed(0)
        x = torch.randn(self.rows, self.inner, generator=generator, device=device)
        w = torch.randn(self.inner, self.columns, generator=generator, device=device)
        y = torch.empty(self.rows, self.columns, device=device)
        cut = lambda t: t.view(self.chunks, self.rows // self.chunks, -1)
        return cut(x), w, cut(y)


@dataclass
class Trial:
    """When what happened, in seconds of `time.perf_counter` or of a GPU's clock.

    ``computed`` has the start and end of each chunk's computation, ``sent`` the moment when it was handed over,
    ``arrived`` when it was there.
    """

    begin: float = 0.0
    computed: list[tuple[float, float]] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)
    arrived: list[float] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """From the beginning until all is computed and has arrived."""
        return max([*self.arrived, *(end for _, end in self.computed)]) - self.begin

    @property
    def computing(self) -> float:
        """The seconds of all computations."""
        return sum(end - start for start, end in self.computed)

    def under_way(self) -> list[spans.Span]:
        """Returns start and end of each chunk's time on the link."""
        return spans.queued(self.begin, self.sent, self.arrived)


class Strategy(StrEnum):
    """What `over_link` and `to_host` can do: one side alone, both without overlap, both with it.

    In turn, host 0 goes on when host 1 has confirmed a chunk; waited, when its own call returns that waits for the
    sending. On a GPU the two are the same.
    """

    COMPUTE = "compute"
    TRANSFER = "transfer"
    IN_TURN = "in turn"
    WAITED = "waited"
    PIPELINE = "pipeline"

    @property
    def loop(self) -> Callable[..., None]:
        """The function that goes through the chunks."""
        return pipeline if self in (Strategy.TRANSFER, Strategy.PIPELINE) else without_overlap


def over_link(network: Network, work: Product, strategy: Strategy | str) -> Trial:
    """Returns what was seen of a product computed by host 0 of ``network`` and sent to host 1, in one `Strategy`.

    The two hosts share a clock. Raises ValueError if ``how`` names no `Strategy`.
    """
    strategy = Strategy(strategy)
    seen, there = network.run(_host, work, strategy)
    return replace(seen, arrived=there.arrived)


def _host(rank: int, work: Product, strategy: Strategy) -> Trial:
    process_group(rank, 2)
    x, w, y = work.operands()
    y[:] = 1.0  # its pages are there before the clock starts
    torch.mm(x[0], w)
    seen, token, confirm = Trial(), torch.zeros(1), strategy is Strategy.IN_TURN
    multiply = _clocked(seen, lambda i: torch.mm(x[i], w, out=y[i]))
    compute = multiply if strategy is not Strategy.TRANSFER else lambda i: y[i]

    def transfer(i: int, chunk: torch.Tensor) -> Wait:
        seen.sent.append(perf_counter())
        handle = dist.broadcast(chunk, 0, async_op=True)

        def wait() -> None:
            handle.wait()
            if confirm:
                dist.broadcast(token, 1)

        return wait

    def receive() -> None:
        handles = [] if confirm else [dist.broadcast(chunk, 0, async_op=True) for chunk in y]
        for i in range(work.chunks):
            if confirm:
                dist.broadcast(y[i], 0)
            else:
                handles[i].wait()
            seen.arrived.append(perf_counter())
            if confirm:
                dist.broadcast(token, 1)

    dist.barrier()
    seen.begin = perf_counter()
    if rank == 0:
        strategy.loop(compute, transfer if strategy is not Strategy.COMPUTE else lambda i, chunk: int, work.chunks)
    elif strategy is not Strategy.COMPUTE:
        receive()
    dist.barrier()
    return seen


def _clocked(seen: Trial, compute: Callable[[int], Any]) -> Callable[[int], Any]:
    def clocked(i: int) -> Any:
        start = perf_counter()
        chunk = compute(i)
        seen.computed.append((start, perf_counter()))
        return chunk

    return clocked


def to_host(device: torch.device | str, work: Product, strategy: Strategy | str) -> Trial:
    """Returns what was seen of a product computed on a CUDA ``device`` and copied to the CPU, in one `Strategy`.

    The copies run in a stream of their own, into pinned memory kept for them; an event per chunk says when it may
    be copied. All moments are of CUDA events.
    """
    strategy = Strategy(strategy)
    needs_cuda(device, "a copy in a stream of its own")
    x, w, y = work.operands(device)
    kept = torch.empty(y.shape, pin_memory=True)
    copies, tick = torch.cuda.Stream(device), partial(torch.cuda.Event, enable_timing=True)
    marks: dict[str, list[Any]] = {"start": [], "end": [], "arrived": []}

    def mark(name: str, stream: Any) -> Any:
        marks[name].append(event := tick())
        event.record(stream)
        return event

    def compute(i: int) -> torch.Tensor:
        mark("start", main)
        torch.mm(x[i], w, out=y[i])
        mark("end", main)
        return y[i]

    def transfer(i: int, chunk: torch.Tensor) -> Wait:
        copies.wait_stream(main)
        with torch.cuda.stream(copies):
            kept[i].copy_(chunk, non_blocking=True)
        return mark("arrived", copies).synchronize

    with torch.cuda.device(device):
        main = torch.cuda.current_stream()
        compute(0)
        transfer(0, y[0])()
        marks = {name: [] for name in marks}
        torch.cuda.synchronize()
        begin = tick()
        begin.record(main)
        strategy.loop(
            compute if strategy is not Strategy.TRANSFER else lambda i: y[i],
            transfer if strategy is not Strategy.COMPUTE else lambda i, chunk: int,
            work.chunks,
        )
        torch.cuda.synchronize()
    when = {name: [begin.elapsed_time(event) / 1e3 for event in events] for name, events in marks.items()}
    computed = list(zip(when["start"], when["end"], strict=True))
    sent = [end for _, end in computed] or [0.0] * len(when["arrived"])
    return Trial(0.0, computed, sent, when["arrived"])


SIDES = Strategy.COMPUTE, Strategy.TRANSFER, Strategy.PIPELINE


def sweep(
    run: Callable[[Product, Strategy], Trial], works: Sequence[Product], repeats: int = 7, device: Any = "cpu"
) -> list[dict[str, Measurement]]:
    """Returns, for each of ``works``, the seconds to ``compute`` it, ``transfer`` it, and do both in a ``pipeline``.

    And what `compared` says of them. All take turns, of each work first both sides.
    """
    sides = {(i, side): partial(run, work, side) for i, work in enumerate(works) for side in SIDES}
    trials, env = interleave(sides, repeats), environment(device)
    return [
        compared(
            {side: trials[i, side].measurement(lambda one: one.seconds, "s", side, environment=env) for side in SIDES},
            work.chunks,
        )
        for i, work in enumerate(works)
    ]


def compared(took: Mapping[str, Measurement], chunks: int) -> dict[str, Measurement]:
    """Returns the seconds of both sides and of their ``pipeline``, taken in turn, and how these compare.

    ``predicted_over_measured`` of the pipeline; ``predicted_over_longer`` and ``measured_over_longer``, over the longer
    side; ``measured_over_sum``, over both.
    """
    compute, transfer, both = (took[side] for side in SIDES)
    longer = compute.larger(transfer)
    predicted = (compute + transfer + longer * (chunks - 1)) / chunks  # as `predict` has it, turn by turn
    ratios = {
        "predicted_over_measured": predicted / both,
        "predicted_over_longer": predicted / longer,
        "measured_over_longer": both / longer,
        "measured_over_sum": both / (compute + transfer),
    }
    return {"compute": compute, "transfer": transfer, "pipeline": both, **ratios}


LONGEST = 0.25
"""So many seconds does a transfer take at most; what seems to take longer was held up."""


def balanced(run: Callable[[Product, Strategy], Trial], work: Product) -> Product:
    """Returns ``work`` with an inner size, in steps of 64, that takes about as long to compute as to transfer.

    Or as `LONGEST`, where a transfer seems to take longer.
    """
    run(work, Strategy.PIPELINE)  # warms up
    compute, transfer = (
        median(run(work, side).seconds for _ in range(5)) for side in (Strategy.COMPUTE, Strategy.TRANSFER)
    )
    return replace(work, inner=max(64, 64 * round(work.inner * min(transfer, LONGEST) / compute / 64)))
