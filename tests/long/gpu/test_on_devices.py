"""The road of the chapter on several GPUs, on four simulated ones."""

from __future__ import annotations

from pathlib import Path

from tests.gpu.conftest import simulated
from tests.gpu.test_on_devices import road_on

# The package of rehearsals is on the path once the lines above have been imported.
from rehearsal.forks import Forks  # isort: skip


def test_the_road_on_four_gpus(library: Path) -> None:
    with Forks(simulated(library, 4)) as forks:
        assert not forks.run(road_on(4))
