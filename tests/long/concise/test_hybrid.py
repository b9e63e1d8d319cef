"""Hybrid sharding on two hosts of two processes each: only gradients cross the link, as under DDP."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlperf.concise import observe, rungs
from dlperf.multigpu.group import hosts
from dlperf.multigpu.traffic import on_wire
from dlperf.network import address, unavailable

SCRIPT = "sharded.py --epochs 2 --width 64 --pieces 1"
ON_HOSTS = rungs.ON_HOSTS.replace("--nproc-per-node 1", "--nproc-per-node 2")
MESH = "init_device_mesh(device.type, (size,))"
HYBRID = 'init_device_mesh(device.type, (2, size // 2), mesh_dim_names=("hosts", "devices"))'
"""Hosts first: parameters are sharded along the last dimension, and copied along the first."""


def train(rank: int, count: int, name: str, mesh: str) -> str:
    """Returns what a host of two processes printed, whose script has another mesh."""
    folder = rungs.lay_out(Path(name, str(rank)), {MESH: mesh})
    command = ON_HOSTS.format(hosts=count, first=address(0), own=address(rank), leads=int(rank == 0), script=SCRIPT)
    with rungs.started(command, folder, {**rungs.ON_CPU, observe.ON_HOST: "1"}, seen=True) as process:
        return rungs.finish(command, process)


@pytest.mark.skipif(bool(unavailable()), reason=unavailable())
def test_hybrid_sharding_sends_as_ddp_does_and_keeps_half(tmp_path: Path) -> None:
    with hosts(2) as crew:
        runs = {}
        for mesh in (MESH, HYBRID):
            folder = tmp_path / str(len(runs))
            folder.mkdir()
            said = crew.run(train, str(folder), mesh)
            runs[mesh] = rungs.result(said, [folder / str(rank) for rank in range(2)], 0.0)
        ddp = rungs.run_on_hosts(crew, "ddp.py --epochs 1 --width 64", seen=True)
    whole, hybrid = runs[MESH], runs[HYBRID]
    gradients = ddp.traces[0].memory.gradients
    sent = {name: run.traces[0].sent / on_wire(gradients) for name, run in (("sharded", whole), ("hybrid", hybrid))}
    state = {name: run.traces[0].memory.optimizer / ddp.traces[0].memory.optimizer for name, run in runs.items()}
    print(f"a host sends {sent} times the gradients' bytes; a process keeps {state} of the optimizer's state")
    assert hybrid.losses == {epoch: pytest.approx(loss, rel=0.01) for epoch, loss in whole.losses.items()}
    assert sent["hybrid"] == pytest.approx(1, rel=0.02)
    assert sent["sharded"] > 1.5
    assert state[MESH] == pytest.approx(1 / 4, rel=0.05)
    assert state[HYBRID] == pytest.approx(1 / 2, rel=0.05)
