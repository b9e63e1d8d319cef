"""Streams of a GPU: what runs beside what, what is copied meanwhile, and how soon freed memory is used again.

The chapter *Asynchronous computation* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch

from dlperf.device import has_cuda, needs_cuda


def branches(device: torch.device | str, cycles: int = 20_000_000) -> dict[str, Callable[[], None]]:
    """Returns programs that launch two kernels, each ``cycles`` long: in one stream of a CUDA ``device``, and in two.

    In the second, an event makes the current stream wait for the other.
    """
    with torch.cuda.device(needs_cuda(device, "a program in two streams")):
        main, side = torch.cuda.current_stream(), torch.cuda.Stream()

    def one() -> None:
        with torch.cuda.stream(main):
            torch.cuda._sleep(cycles)
            torch.cuda._sleep(cycles)

    def two() -> None:
        with torch.cuda.stream(main):
            side.wait_stream(main)
            torch.cuda._sleep(cycles)
        with torch.cuda.stream(side):
            torch.cuda._sleep(cycles)
            ended = side.record_event()
        main.wait_event(ended)

    return {"one stream": one, "two streams": two}


Ahead = Callable[[Iterable[list[torch.Tensor]], torch.device], Iterable[list[torch.Tensor]]]
"""Turns a loader's batches into batches on a device."""


def copies(device: torch.device | str, ahead: Ahead, number: int = 10, n: int = 4096) -> dict[str, Callable[[], None]]:
    """Returns loops that copy ``number`` batches of ``n / 4`` rows to a CUDA ``device`` and multiply each by a square.

    ``pageable`` and ``pinned`` say from which memory, in the stream of the products; ``side stream`` is pinned, and
    copied by ``ahead``. Each only enqueues what it can.
    """
    place = needs_cuda(device, "a copy beside a kernel")
    weights = torch.ones(n, n, device=place)
    pageable = torch.ones(n // 4, n)
    pinned = pageable.pin_memory()

    def plain(batch: torch.Tensor) -> None:
        for _ in range(number):
            batch.to(place, non_blocking=True) @ weights

    def beside() -> None:
        for (batch,) in ahead(([pinned] for _ in range(number)), place):
            batch @ weights

    return {"pageable": lambda: plain(pageable), "pinned": lambda: plain(pinned), "side stream": beside}


def reused_while_pending(device: torch.device | str, size: int = 2**24, cycles: int = 200_000_000) -> bool | None:
    """Returns whether a new tensor gets a freed one's memory although a kernel that reads this is still queued.

    None where ``device`` is not a CUDA device. ``cycles`` is how long the stream is kept busy.
    """
    if not has_cuda(device):
        return None
    with torch.cuda.device(device):
        torch.cuda.empty_cache()
        x = torch.ones(size, device=device)
        y = x + 1  # the first call of a kernel loads it, which may wait
        torch.cuda.synchronize()
        torch.cuda._sleep(cycles)
        torch.add(x, 1, out=y)
        read = torch.cuda.current_stream().record_event()
        place = x.data_ptr()
        del x
        same = torch.empty(size, device=device).data_ptr() == place
        pending = not read.query()
        torch.cuda.synchronize()
    return same and pending
