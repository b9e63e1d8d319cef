"""Synchronised batch norm over processes is that of the whole batch on one device, values and gradients."""

import torch

from dlperf.multigpu import normalisation
from dlperf.multigpu.group import Group


def test_synchronised_is_the_whole_batch_and_alone_is_not():
    with Group(2) as group:
        for dtype, small in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
            for found in group.run(normalisation.errors, 4, dtype):
                assert found["synchronised"] < small
                assert found["synchronised gradient"] < small
                assert found["alone"] > 0.01
                assert found["alone gradient"] > 0.01
