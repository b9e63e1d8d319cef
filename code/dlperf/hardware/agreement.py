"""Our probes and the tools that the field trusts, asked the same question in turn: what ours say over what theirs say.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from dlperf.environment import environment
from dlperf.hardware import links, minimum, reference_tools, storage, stream
from dlperf.measurement import Measurement
from dlperf.network import Network
from dlperf.turns import columns

T = TypeVar("T")


def turns(ours: Callable[[], T], theirs: Callable[[], T], count: int) -> list[tuple[T, T]]:
    """Returns what both said in ``count`` turns; in every other turn theirs goes first."""
    said = []
    for turn in range(count):
        if turn % 2:
            second, first = theirs(), ours()
        else:
            first, second = ours(), theirs()
        said.append((first, second))
    return said


def mbw(mebibytes: int = 64, rounds: int = 12) -> dict[str, Measurement]:
    """Returns the bytes copied per second by our ``loop`` and by ``memcpy``, over what mbw says of its own.

    Both copy as many bytes on the same core, in memory that came unasked, and count each byte once. Each turn's best
    of seven stands, because others who use the memory only slow it down. Raises `Unknown` without mbw.
    """
    a, b = (stream.unadvised(mebibytes * 2**20) for _ in range(2))
    ways: dict[str, Callable[[], object]] = {"loop": lambda: stream.copy(a, b), "memcpy": lambda: np.copyto(a, b)}

    def ours() -> Mapping[str, float]:
        return {name: a.nbytes / min(m.samples) for name, m in minimum.single_calls(ways, 7).items()}

    def theirs() -> Mapping[str, float]:
        return {name: max(rates) for name, rates in reference_tools.mbw(mebibytes, runs=7).items()}

    with storage.one_core():
        rows = [{name: mine[name] / its[name] for name in ways} for mine, its in turns(ours, theirs, rounds)]
    return columns(rows, dict.fromkeys(ways, "1"), environment("cpu"))


def fio(path: Path, block: int, depth: int = 1, *, count: int = 5, seconds: float = 0.3) -> Measurement:
    """Returns our rate of reads at random past the page cache over that of `fio`; `Unknown` without it.

    Both have ``depth`` threads on one core, because it matters which core the disk interrupts.
    """
    with storage.one_core():
        said = turns(
            lambda: storage.rate(path, block, depth, samples=1, seconds=seconds).median,
            partial(reference_tools.fio, path, block, depth, seconds=seconds),
            count,
        )
    return Measurement(tuple(a / b for a, b in said), "1", "ours / fio", environment=environment("cpu"))


def iperf3(
    trips: links.Trips, amount: int, link: Network | None = None, count: int = 5
) -> tuple[Measurement, Measurement]:
    """Returns our bandwidth in B/s, and its ratio to what `iperf3` finds, over ``link`` or within this machine.

    Raises `Unknown` without iperf3.
    """
    theirs = partial(reference_tools.iperf3_over, link) if link else reference_tools.iperf3
    said = turns(lambda: links.bandwidth(trips, amount), lambda: theirs(amount), count)
    found = columns(
        [{"bandwidth": a, "ratio": a / b} for a, b in said], {"bandwidth": "B/s", "ratio": "1"}, environment("cpu")
    )
    return found["bandwidth"], found["ratio"]
