"""Time asynchronous calls until they return and until their work is done, and find calls that synchronize.

The chapter *Asynchronous computation* tells the story.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from operator import itemgetter
from time import perf_counter, process_time, sleep
from typing import Any

import torch

from dlperf.device import has_cuda, needs_cuda, synchronize
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.turns import interleave

Program = Callable[[], tuple[float, float]]
"""Runs once and returns two times in seconds: until its calls returned, and until it had waited for them."""


def clocked(calls: Callable[[], Any], wait: Callable[[Any], Any]) -> Program:
    """Returns the program that makes ``calls`` and then passes what they return to ``wait``."""

    def program() -> tuple[float, float]:
        start = perf_counter()
        result = calls()
        returned = perf_counter() - start
        wait(result)
        return returned, perf_counter() - start

    return program


def blockers(engine: Any, n: int) -> dict[str, Program]:
    """Returns products of an ``(n, n)`` matrix that end in each way of waiting that an engine has.

    Source: Zhang et al., Dive into Deep Learning, MXNet edition, section *Asynchronous Computing*.
    """
    x = engine.array(torch.rand(n, n))
    return {
        "product, sum, print": clocked(lambda: (x @ x).sum(), repr),
        "product, wait_to_read": clocked(lambda: x @ x, engine.wait_to_read),
        "two products, waitall": clocked(lambda: (x @ x, x @ x), lambda _: engine.waitall()),
        "product, asnumpy": clocked(lambda: x @ x, lambda y: y.asnumpy()),
        "product, norm, item": clocked(lambda: (x @ x).norm(), lambda y: y.item()),
    }


def blockers_on_gpu(device: torch.device, n: int) -> dict[str, Program]:
    """Returns the programs of `blockers` on PyTorch's own queue, the current stream of a CUDA ``device``."""
    x = torch.rand(n, n, device=needs_cuda(device, "a queue that PyTorch waits for by itself"))
    stream = torch.cuda.current_stream(device)
    return {
        "product, sum, print": clocked(lambda: (x @ x).sum(), repr),
        "product, wait_to_read": clocked(lambda: x @ x, lambda _: stream.synchronize()),
        "two products, waitall": clocked(lambda: (x @ x, x @ x), lambda _: synchronize(device)),
        "product, asnumpy": clocked(lambda: x @ x, lambda y: y.cpu().numpy()),
        "product, norm, item": clocked(lambda: (x @ x).norm(), lambda y: y.item()),
    }


def returned_and_finished(programs: dict[str, Program], repeats: int = 5) -> dict[str, tuple[Measurement, Measurement]]:
    """Returns, for each program, when it returned and when it finished, in seconds, after one unclocked turn."""
    times, env = interleave(programs, repeats), environment()
    returned, finished = itemgetter(0), itemgetter(1)
    return {
        name: (
            pairs.measurement(returned, "s", "returned", environment=env),
            pairs.measurement(finished, "s", "finished", environment=env),
        )
        for name, pairs in times.items()
    }


def left_over(calls: Callable[[], Any], rest: float) -> tuple[float, float]:
    """Returns the CPU time in seconds that this process uses during ``calls``, and in a sleep of ``rest`` s after."""
    begin = process_time()
    result = calls()
    returned = process_time()
    sleep(rest)
    after = process_time() - returned
    del result  # not before: to free what is unfinished may be to give it up
    return returned - begin, after


SUSPECTS: dict[str, Callable[[torch.Tensor], Any]] = {
    "x + 1": lambda x: x + 1,
    "x.sum()": lambda x: x.sum(),
    "x.shape": lambda x: x.shape,
    "x.sum().item()": lambda x: x.sum().item(),
    "x.cpu()": lambda x: x.cpu(),
    "print(x)": repr,
    "bool(x.sum() > 0)": lambda x: bool(x.sum() > 0),
    "x.nonzero()": lambda x: x.nonzero(),
    "x[x > 0]": lambda x: x[x > 0],
}
"""Calls on a tensor of which some need its values on the front end, and therefore wait."""


def found_waiting(device: torch.device | str) -> dict[str, bool] | None:
    """Returns which of `SUSPECTS` PyTorch reports as synchronizing on a CUDA ``device``; None on any other.

    Source: torch.cuda.set_sync_debug_mode, which says itself that it does not see all.
    """
    if not has_cuda(device):
        return None
    x = torch.randn(64, device=device)
    found = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*prototype.*")
        for name, call in SUSPECTS.items():
            call(x)  # a first call may wait for other reasons
            torch.cuda.set_sync_debug_mode("error")
            try:
                call(x)
                found[name] = False
            except RuntimeError as error:
                if "synchronizing" not in str(error):
                    raise
                found[name] = True
            finally:
                torch.cuda.set_sync_debug_mode("default")
    return found


def branches(engine: Any, second: str, n: int) -> Callable[[], Any]:
    """Returns a program that cubes two ``(n, n)`` matrices and adds the cubes.

    One branch runs on the engine's first device, the other on ``second``.
    """
    first = engine.devices[0]
    x, y = (engine.array(torch.rand(n, n), place) for place in (first, second))
    return lambda: x @ x @ x + (y @ y @ y).to(first)
