"""Batch norm on several devices: PyTorch's own as the oracle, in one process; with several, see tests/slow."""

import pytest
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from dlperf.multigpu import batch_size
from dlperf.multigpu import normalisation as norm


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    store = tmp_path_factory.mktemp("group") / "store"
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
    yield dist.group.WORLD
    dist.destroy_process_group()


@pytest.mark.parametrize("shape", [(6, 5), (4, 3, 2, 2)])
def test_one_process_alone_is_plain_batch_norm(alone, shape):
    x = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    pull = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found, mean, variance, count = norm.synchronised(x)
    right = F.batch_norm(x, None, None, training=True, eps=norm.EPS)
    torch.testing.assert_close(found, right)
    torch.testing.assert_close(*(torch.autograd.grad((y * pull).sum(), x)[0] for y in (found, right)))
    dims = [0, *range(2, len(shape))]
    torch.testing.assert_close(mean.flatten(), x.mean(dims))
    torch.testing.assert_close(variance.flatten(), x.var(dims, unbiased=False))
    assert count == x.numel() / shape[1]


def test_the_module_keeps_the_running_statistics_that_pytorch_keeps(alone):
    mine, theirs = norm.Synchronised(3), nn.BatchNorm2d(3)
    draw = torch.Generator().manual_seed(0)
    for _ in range(3):
        x = torch.randn(4, 3, 5, 5, generator=draw) * 2 + 1
        torch.testing.assert_close(mine(x), theirs(x), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(mine.running_mean, theirs.running_mean)
    torch.testing.assert_close(mine.running_var, theirs.running_var)
    assert torch.equal(mine.eval()(x), F.batch_norm(x, mine.running_mean, mine.running_var, mine.weight, mine.bias))


def test_devices_that_one_process_plays_normalise_their_shares_as_pytorch_does():
    z = torch.randn(2, 12, 5, generator=torch.Generator().manual_seed(0))
    found, mean, variance = norm.per_device(z, 3)
    for i in range(2):
        shares = [F.batch_norm(part, None, None, training=True, eps=norm.EPS) for part in z[i].chunk(3)]
        torch.testing.assert_close(found[i], torch.cat(shares))
        torch.testing.assert_close(mean[i, 0], z[i, :4].mean(0))
        torch.testing.assert_close(variance[i, 0], z[i, :4].var(0, unbiased=False))


def test_means_of_shares_scatter_by_the_root_of_their_size():
    data = batch_size.digits()
    for n in (4, 16):
        assert norm.spread(data, n) == pytest.approx(n**-0.5, rel=0.1)


def test_a_batch_of_shares_that_cannot_be_normalised_is_refused():
    data = batch_size.digits()
    for devices in (3, 32):
        with pytest.raises(ValueError, match="at least 2"):
            norm.accuracies(data, devices, (0,))
