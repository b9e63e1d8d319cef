"""What the tests of several devices have them do, in a module that these import quickly."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from threading import Thread

import torch
import torch.distributed as dist

from dlperf.multigpu import correctness, reduce, road
from dlperf.multigpu.data_parallel import split_batch
from dlperf.multigpu.group import first, own_device
from dlperf.multigpu.traffic import sent
from tests.processes import wait_until

FRAME = 1514  # bytes of a full frame, of which 1448 are a program's


def sums(rank: int, size: int, algorithm: str, k: int, n: int) -> torch.Tensor:
    """Returns the sum of what each of the first ``k`` has: 0.0, 0.1, 0.2 and so on, plus its rank."""
    tensor = torch.arange(n, device=own_device()) * 0.1 + rank
    reduce.ALGORITHMS[algorithm](tensor, first(k))
    return tensor.cpu()


def segments_sent_again(rank: int, size: int) -> int:
    """Returns the segments that a host's TCP has sent again so far: where a machine is busy, they are not few.

    Each has left by the link as often, in a frame of at most 1514 bytes.
    """
    names, figures = (
        line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Tcp:")
    )
    return int(figures[names.index("RetransSegs")])


def sum_while_cut(rank: int, size: int, nbytes: int, folder: Path) -> tuple[int, int]:
    """Returns the bytes that a host sends around a ring, and its segments that were sent again.

    Host 1 says that it is ``ready``, begins when its link has been ``cut``, and says when it has ``lost`` something.
    """
    tensor = torch.ones(nbytes // 4)
    before, again = sent(), segments_sent_again(rank, size)
    dist.barrier()
    if rank == 1:
        (folder / "ready").touch()
        assert wait_until((folder / "cut").exists)
        Thread(target=_say_what_is_lost, args=(again, folder / "lost"), daemon=True).start()
    reduce.ring(tensor)
    dist.barrier()
    assert torch.equal(tensor, torch.full_like(tensor, size))
    return sent() - before, segments_sent_again(rank, size) - again


def _say_what_is_lost(before: int, file: Path) -> None:
    if wait_until(lambda: segments_sent_again(0, 0) > before):
        file.touch()


def weights_after(rank: int, size: int, exchange: road.Exchange, k: int) -> torch.Tensor:
    """Returns a device's weights after the first step of the road, which k share, on four images, in one vector."""
    road._step.cache_clear()
    road.traced_step(rank, size, exchange, k, 4)
    model = road._step(rank, size, 4).model
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach().cpu()


def device_kind(rank: int, size: int) -> str:
    """Returns the kind of device whose tensors a process sends."""
    return own_device().type


def errors_with_batch_norm(
    rank: int, size: int, frozen: bool, cases: list[tuple[int, int]]
) -> dict[tuple[int, int], tuple[float, float]]:
    """Returns the relative errors of this device's gradient, and of its weights after some steps of SGD, in float64.

    A case is a number of devices and a batch. The truth is one device's with the whole batch. Batch norm takes the
    statistics of the examples that it sees, or, ``frozen``, those of some that it has seen before.
    """
    device, found = own_device(), {}

    def trained(share: tuple[torch.Tensor, torch.Tensor], batch: int, k: int) -> tuple[list[torch.Tensor], ...]:
        model = correctness.network(torch.float64, device, normalised=True)
        model(correctness.examples(32, torch.float64, device)[0])
        sum_up = partial(reduce.through_one, group=first(k)) if k > 1 else lambda flat: None
        return correctness.train("right", "sgd", correctness.STEPS, model.train(not frozen), *share, batch, k, sum_up)

    for k, batch in cases:
        if rank < k:
            whole = correctness.examples(batch, torch.float64, device)
            pairs = zip(trained(split_batch(*whole, rank, k), batch, k), trained(whole, batch, 1), strict=True)
            gradient, weights = (correctness.relative_error(mine, true) for mine, true in pairs)
            found[k, batch] = gradient, weights
    return found
