"""A probe: a question to the machine, what is assumed in asking it, and the refusal to guess."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dlperf.measurement import Measurement


class Unknown(RuntimeError):
    """What this machine does not let a probe know, and why: a virtual machine, one core, no space on the disk."""


@dataclass(frozen=True)
class Probe:
    """A question that a `Measurement` answers. ``assumes`` says what must be true for the answer to mean its name."""

    name: str
    assumes: str
    ask: Callable[[], Measurement]

    @property
    def key(self) -> str:
        """What records call it: its module and its function, such as ``pointer-chase-l1``."""
        module, name = self.ask.__module__.rpartition(".")[2], self.ask.__name__.removesuffix("_probe")
        return f"{module}-{name}".replace("_", "-")

    def __call__(self) -> Measurement:
        """Returns the answer; raises `Unknown` where this machine cannot know it."""
        return self.ask()


def probe(name: str, assumes: str) -> Callable[[Callable[[], Measurement]], Probe]:
    """Returns a decorator that makes a function without arguments a `Probe`."""
    return lambda ask: Probe(name, assumes, ask)
