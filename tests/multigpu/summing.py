"""What the tests of several devices have them do, in a module that these import quickly."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import torch
import torch.distributed as dist

from dlperf.multigpu import correctness, reduce, road
from dlperf.multigpu.data_parallel import split_batch
from dlperf.multigpu.group import first, own_device
from dlperf.multigpu.traffic import on_wire
from dlperf.network import INTERFACE
from tests.processes import wait_until

SEGMENT, HEADERS = 1448, 66  # the bytes of a program in a full frame, and those of headers in any, also if it is empty


class Sent(NamedTuple):
    """What has left a host: the bytes of so many frames, and the segments among them that TCP has sent again."""

    bytes: int
    frames: int
    again: int

    def since(self, before: Sent) -> Sent:
        return Sent(*(now - then for now, then in zip(self, before, strict=True)))

    @property
    def payload(self) -> int:
        """The bytes of a program, each counted once: formulas know of no others.

        Some less, where what was sent again were not full segments.
        """
        return self.bytes - HEADERS * self.frames - SEGMENT * self.again

    @property
    def beside(self) -> float:
        """The bytes that are not its payload's in full frames.

        They are what is sent again, and acknowledgements: one for every frame at worst, a twentieth of its bytes. A
        busy machine decides how many of both there are.
        """
        return self.bytes - on_wire(self.payload)


def sums(rank: int, size: int, algorithm: str, k: int, n: int) -> torch.Tensor:
    """Returns the sum of what each of the first ``k`` has: 0.0, 0.1, 0.2 and so on, plus its rank."""
    tensor = torch.arange(n, device=own_device()) * 0.1 + rank
    reduce.ALGORITHMS[algorithm](tensor, first(k))
    return tensor.cpu()


def segments_sent_again(rank: int, size: int) -> int:
    """Returns the segments that a host's TCP has sent again so far: where a machine is busy, they are not few."""
    names, figures = (
        line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Tcp:")
    )
    return int(figures[names.index("RetransSegs")])


def sent(rank: int, size: int) -> Sent:
    """Returns what has left a host so far, by the queue of its link, which counts the frames of a large packet."""
    from pyroute2 import IPRoute

    with IPRoute() as ip:
        (interface,) = ip.link_lookup(ifname=INTERFACE)
        counts = [queue.get_attr("TCA_STATS") for queue in ip.get_qdiscs(interface)]
    [(nbytes, frames)] = [(each["bytes"], each["packets"]) for each in counts if each]
    return Sent(nbytes, frames, segments_sent_again(rank, size))


def acknowledge_each_frame(rank: int, size: int) -> None:
    """Has a host send frame by frame, and acknowledge each that comes, as TCP does for a while after a loss."""
    from pyroute2 import IPRoute

    with IPRoute() as ip:
        (interface,) = ip.link_lookup(ifname=INTERFACE)
        ip.link("set", index=interface, gso_max_segs=1)
        ip.route("replace", dst="10.0.0.0/24", oif=interface, scope="link", metrics={"quickack": 1})


def sum_while_cut(rank: int, size: int, nbytes: int, folder: Path) -> Sent:
    """Returns what a host sends around a ring.

    Host 1 says that it is ``ready``, begins when its link has been ``cut``, and says when it has ``lost`` segments.
    """
    tensor = torch.ones(nbytes // 4)
    before = sent(rank, size)
    dist.barrier()
    if rank == 1:
        (folder / "ready").touch()
        assert wait_until((folder / "cut").exists)
        Thread(target=_say_what_is_lost, args=(before.again, folder / "lost"), daemon=True).start()
    reduce.ring(tensor)
    dist.barrier()
    assert torch.equal(tensor, torch.full_like(tensor, size))
    return sent(rank, size).since(before)


def _say_what_is_lost(before: int, file: Path) -> None:
    if wait_until(lambda: segments_sent_again(0, 0) >= before + 4):
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
