"""Messages that overtake each other, come twice, and come seconds late, as Ray's calls may after an error.

The rest is as in `tests.kvstore.test_simulated`: servers and the scheduler fail meanwhile.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from dlperf.kvstore import wire
from tests.kvstore.simulated import World, config
from tests.kvstore.test_simulated import objections_after_faults

LATE = 6.0
"""So many seconds late do some messages come, longer than it takes to be given up."""


class Disordered(World):
    """A cluster whose messages come in any order; a tenth of them come twice, and a hundredth very late."""

    def send(self, sender: Any, to: Any, message: wire.Message, frames: Sequence[Any]) -> None:
        copies = [bytes(wire.encode(message)), *(bytes(frame) for frame in frames)]
        if sender in self.down:
            return
        run = self._run(to)
        for _ in range(1 + (self.random.random() < 0.1)):
            late = self.random.uniform(0, LATE) if self.random.random() < 0.01 else 0.0
            delay = self.random.expovariate(1 / self.slow) + late
            self.at(delay, lambda: self._arrive(sender, to, copies, run))

    def _run(self, to: Any) -> int:
        return self.nodes[to[1]].run if to[0] == "server" else 0

    def _arrive(self, sender: Any, to: Any, frames: list[bytes], run: int) -> None:
        if sender != "scheduler" or self._run(to) == run:  # the scheduler's are for one process only
            self._deliver(sender, to, frames)


@pytest.mark.parametrize("seed", range(8))
def test_what_is_acknowledged_stays_and_counts_once_in_whatever_order_messages_come(seed: int) -> None:
    chance = random.Random(seed)
    world = Disordered(config(4, 2, copies=2 + seed % 2, staleness=None, patience=1000.0), seed)
    assert objections_after_faults(world, chance, disks=bool(seed % 4)) == []
