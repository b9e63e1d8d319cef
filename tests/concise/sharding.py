"""What the tests of sharding have their processes do."""

from __future__ import annotations

from typing import Any

from torch.distributed.tensor.debug import CommDebugMode

from dlperf.concise import observed
from dlperf.network import process_group


def counted_by_pytorch(rank: int, size: int, make: Any, task: observed.Task) -> dict[str, int]:
    """Returns how many collectives of each kind PyTorch's own counter finds in the third step."""
    process_group(rank, size)
    made = make(task, rank, size)
    made.step()
    made.step()
    with CommDebugMode() as seen:
        made.step()
    kinds = {
        "gather": "all-gather",
        "reduce_scatter": "reduce-scatter",
        "reduce": "all-reduce",
        "broadcast": "broadcast",
    }
    found: dict[str, int] = {}
    for operation, number in seen.get_comm_counts().items():
        name = str(operation)
        kind = next((kind for part, kind in kinds.items() if part in name), name)
        found[kind] = found.get(kind, 0) + number
    return found
