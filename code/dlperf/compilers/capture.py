"""Test whether functions captured by TorchScript, `torch.export` or `torch.compile` still behave as in Python."""

from __future__ import annotations

import contextlib
import io
import logging
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

Function = Callable[[torch.Tensor], torch.Tensor]

AS_IN_PYTHON, REFUSED = "as in Python", "refused"
WARNED, DIFFERENT = "different, with a warning", "different, silently"

settings = {"scale": 2.0, "calls": 0.0}
"""Something outside of a function, which it reads and changes."""


def computes(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x * 2 + 1)


def branches(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        return x * 2
    return x * 3


def takes_a_value(x: torch.Tensor) -> torch.Tensor:
    return x * x.sum().item()


def changes_its_argument(x: torch.Tensor) -> torch.Tensor:
    x += 1
    return x * 2


def loops_over_rows(x: torch.Tensor) -> torch.Tensor:
    for _ in range(x.shape[0]):
        x = x * 2
    return x


def reads_a_setting(x: torch.Tensor) -> torch.Tensor:
    return x * settings["scale"]


def counts_its_calls(x: torch.Tensor) -> torch.Tensor:
    settings["calls"] += 1
    return x * 2


def draws_a_number(x: torch.Tensor) -> torch.Tensor:
    return x * random.random()


PROGRAMS: dict[str, Function] = {
    "computes": computes,
    "branches on a value": branches,
    "takes a value": takes_a_value,
    "changes its argument": changes_its_argument,
    "loops over the rows": loops_over_rows,
    "reads a setting": reads_a_setting,
    "counts its calls": counts_its_calls,
    "draws a random number": draws_a_number,
}
"""What Python programs do, one thing each."""


class _Module(nn.Module):
    def __init__(self, fn: Function) -> None:
        super().__init__()
        self.fn = fn

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fn(x)


def exported(fn: Function, x: torch.Tensor) -> Function:
    """Returns ``fn`` as `torch.export` captures it, for any number of rows."""
    shapes = {"x": {0: torch.export.Dim.AUTO}}
    return torch.export.export(_Module(fn), (x,), dynamic_shapes=shapes).module()


Capture = Callable[[Function, torch.Tensor], Function]

WAYS: dict[str, Capture] = {
    "torch.jit.trace": lambda fn, x: torch.jit.trace(fn, (x,)),
    "torch.jit.script": lambda fn, x: torch.jit.script(fn),
    "torch.export": exported,
    "torch.compile": lambda fn, x: torch.compile(fn, backend="eager"),
}
"""Ways to capture a function, given an example of its argument, each with its defaults: `torch.jit.trace` runs the
function again and compares. What they generate from it is another matter."""


def observe(fn: Function, x: torch.Tensor) -> tuple[Any, ...]:
    """Returns all that a call with a copy of ``x`` does: result, the copy afterwards, and `settings`."""
    random.seed(0)
    settings.update(scale=5.0, calls=0.0)
    given = x.clone()
    return fn(given).tolist(), given.tolist(), dict(settings)


@contextlib.contextmanager
def _caught() -> Iterator[list[warnings.WarningMessage]]:
    """Yields a list that fills with the warnings; none is shown, nor what is written to standard error."""
    with warnings.catch_warnings(record=True) as said, contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("always")
        yield said


def outcome(way: Capture, fn: Function) -> str:
    """Returns what becomes of ``fn`` when it is captured and then called.

    It is captured with one argument and called with others, of another sign
    or with other rows; `settings` has changed meanwhile. The outcome is
    `AS_IN_PYTHON` if whatever a call does is what Python does, `REFUSED` if
    there is an error, `WARNED` if the tracer had warned that its trace may be
    wrong, and else `DIFFERENT`.
    """
    logging.disable(logging.WARNING)  # a refusal shows the graph, twice
    first = torch.ones(2)
    others = torch.tensor([-1.0, -2.0]), torch.arange(3.0)
    random.seed(1)
    settings.update(scale=2.0, calls=0.0)
    try:
        with _caught() as said:
            captured = way(fn, first)
            captured(first.clone())
            same = [observe(captured, x) == observe(fn, x) for x in others]
    except Exception:
        return REFUSED
    finally:
        logging.disable(logging.NOTSET)
    if all(same):
        return AS_IN_PYTHON
    return WARNED if any(issubclass(each.category, torch.jit.TracerWarning) for each in said) else DIFFERENT
