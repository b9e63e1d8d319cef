"""Measure with three short benchmarks (a canary) whether a machine is as fast as it was.

Two virtual cores may be one for minutes, and a page that was executed then contradicts its neighbours. So a record
keeps what the benchmarks said at both ends of each page, and a page whose ends differ, or that differs from the best
that this machine has shown, is executed again (`booktools.commands.recording`). What a page was measured between, the
page says in its foot (`booktools.site.measured`). A kit asks the canary, too, so this module needs Python and PyTorch
only.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

KEY = "canary"
"""Where the metadata of an executed notebook keep the clocks, under those of the book."""
NEAR = 1.1
"""By which factor a clock may differ from the other end of its page, and from the best of the machine."""
STAT = Path("/proc/stat")
Clocks = Mapping[str, float]
"""Seconds of a small operator, of a product on all cores, and of a training step."""


class CanaryError(Exception):
    """The canary said nothing; the message tells why."""


def ask(timeout: float = 600) -> dict[str, float]:
    """Returns what the clocks say now, in a process of its own, after about four seconds.

    Raises CanaryError if it fails, or has not answered after ``timeout`` seconds.
    """
    try:
        done = subprocess.run([sys.executable, "-m", __name__], capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise CanaryError(f"the canary said nothing for {timeout:g} s") from None
    if done.returncode:
        raise CanaryError(f"the canary failed: {done.stderr.strip().rpartition(chr(10))[2]}")
    return {name: float(seconds) for name, seconds in json.loads(done.stdout).items()}


def stolen() -> float | None:
    """Returns the seconds that other virtual machines took of all cores since the start; None where nothing tells."""
    try:
        fields = STAT.read_text(encoding="ascii").partition("\n")[0].split()
        return int(fields[8]) / 100
    except (OSError, IndexError, ValueError):
        return None


Begun = tuple[Clocks, float | None]
"""What the clocks said before a page, and the seconds stolen until then."""


def begin(timeout: float = 600) -> Begun:
    """Returns what `end` needs to know; CanaryError as `ask` raises it."""
    return ask(timeout), stolen()


def end(begun: Begun, timeout: float = 600) -> dict[str, Any]:
    """Returns what the clocks said at `begin` and say now, and the seconds that were stolen meanwhile."""
    before, took = begun
    more = stolen()
    return {"before": before, "after": ask(timeout), "stolen": None if took is None or more is None else more - took}


def watched(execute: Callable[[], object], before: Clocks | None = None) -> dict[str, Any]:
    """Returns what the clocks say ``before`` and after ``execute``, and the seconds that were stolen meanwhile."""
    begun = (before, stolen()) if before else begin()
    execute()
    return end(begun)


def best(songs: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Returns the shortest time of each clock, over both ends of all pages."""
    found: dict[str, float] = {}
    for clocks in (song[end] for song in songs for end in ("before", "after")):
        found = {name: min(seconds, found.get(name, seconds)) for name, seconds in clocks.items()}
    return found


def slowest(song: Mapping[str, Any], at_best: Clocks) -> float:
    """Returns by which factor the slowest clock at either end of a page lies above this machine's best."""
    return max(song[end][name] / least for name, least in at_best.items() for end in ("before", "after"))


def unsettled(song: Mapping[str, Any], at_best: Clocks) -> list[str]:
    """Returns in which way a page's clocks say that the machine was not itself, as messages; none if it was."""
    found = []
    for name, first in song["before"].items():
        last, least = song["after"][name], at_best[name]
        if max(first, last) > NEAR * min(first, last):
            found.append(f"{name} took {first * 1e6:.0f} µs before and {last * 1e6:.0f} µs after")
        elif max(first, last) > NEAR * least:
            found.append(
                f"{name} took {max(first, last) * 1e6:.0f} µs, and {least * 1e6:.0f} µs at this machine's best"
            )
    return found


def main() -> None:
    """Prints what the clocks say, as JSON."""
    import torch

    x, y, a = torch.rand(1000), torch.rand(1000), torch.rand(768, 768)
    network = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
    batch = torch.rand(256, 256)

    def step() -> None:
        optimizer.zero_grad()
        network(batch).square().mean().backward()
        optimizer.step()

    print(
        json.dumps(
            {
                "operator": _seconds(lambda: torch.add(x, y), 200),
                "product": _seconds(lambda: torch.mm(a, a), 1),
                "step": _seconds(step, 2),
            }
        )
    )


def _seconds(call: Callable[[], object], times: int, enough: float = 0.7, least: int = 15) -> float:
    """Returns the seconds of a call: the median over blocks of so many calls, after five that do not count."""
    took: list[float] = []
    while len(took) < least + 5 or sum(took) * times < enough:
        start = time.perf_counter()
        for _ in range(times):
            call()
        took.append((time.perf_counter() - start) / times)
    return median(took[5:])


if __name__ == "__main__":
    main()
