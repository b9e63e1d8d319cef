"""What takes a processor without units for bfloat16 long."""

import math

import pytest
import torch

from dlperf.models import resnet
from dlperf.models.training import training_step


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_resnet_learns_a_batch_by_heart(dtype: torch.dtype) -> None:
    """Noise has no classes to be learned but by heart: below the loss of guessing at random is only who trains."""
    torch.manual_seed(0)
    images, classes = resnet.batch(4)
    images = images[..., ::2, ::2]  # a processor without units for bfloat16 takes a thousand times as long
    model = resnet.ResNet18()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(6):
        loss = training_step(model, optimizer, images, classes, dtype)
    assert loss < 0.3 * math.log(10)
    assert all(p.dtype == torch.float32 for p in model.parameters())
