"""A program for two processes with two faults: ``torchrun --standalone --nproc-per-node 2 -m dlperf.slow.late_rank``.

Rank 1 sleeps before each of its steps, and gradients are sent after each of the four parts into which a step cuts
its mini-batch. `ranks` finds both. The page *Why is my training slow?* shows what it prints.
"""

from __future__ import annotations

import json
import os
from time import sleep

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from dlperf.slow.ranks import pace, sent

LATE = 0.03
"""So many seconds rank 1 sleeps in each of its steps."""
PARTS = 4
"""Into so many parts a step cuts its mini-batch, one after the other."""
OUT = "DLPERF_SLOW_RANKS"
"""The variable that names the file for what was measured."""


def main() -> None:
    """Clocks the faulty step on all ranks; rank 0 prints what came of it."""
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    layers = torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)
    model = DistributedDataParallel(torch.nn.Sequential(*layers))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = torch.randn(64, 256)

    def step() -> None:
        sleep(LATE * dist.get_rank())  # as if it were slower
        for part in batch.chunk(PARTS):
            model(part).square().mean().backward()  # each one sends
        optimizer.step()
        optimizer.zero_grad()

    ranks = pace(step, model)
    times = sent(step, model)
    if dist.get_rank() == 0:
        print(f"sent_over_gradients {times:.2f}")
        if OUT in os.environ:
            with open(os.environ[OUT], "w", encoding="ascii") as file:
                json.dump({"ranks": ranks, "sent": times}, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
