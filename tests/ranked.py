"""What the page's clocks say in each of two processes: ``torchrun --nproc-per-node 2 -m tests.ranked OUT NAME …``.

Each program of `tests.slow_reports` that is named runs with its fault and without; ``OUT`` gets what rank 0 knows then.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

import torch
import torch.distributed as dist

from tests import diagnosis


def main(out: Path, *reports: str) -> None:
    """Clocks and counts the programs' steps on all ranks."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    found = {}
    for name in reports:
        for fault in (True, False):
            names = import_module(f"tests.slow_reports.{name}").program(fault)
            diagnosis.define(names)
            pace = names["pace"](names["step"], names["model"], steps=5)
            sent = names["sent"](names["step"], names["model"])
            found[f"{name} {'with' if fault else 'without'} fault"] = {"pace": pace, "sent": sent}
    if dist.get_rank() == 0:
        out.write_text(json.dumps(found), encoding="ascii")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
