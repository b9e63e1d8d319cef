"""ResNet-18 against counts known from elsewhere, and against its first and last layers computed by hand."""

from __future__ import annotations

import torch
from torch.utils.flop_counter import FlopCounterMode

from dlperf.models import resnet


def test_it_has_the_published_number_of_parameters() -> None:
    """Of the two common definitions; torchvision's has another stem (7 × 7) and 1,000 classes: 11,689,512."""
    with torch.device("meta"):
        small, large = resnet.ResNet18(), resnet.ResNet18(classes=1000)
    count = lambda model: sum(p.numel() for p in model.parameters())
    assert count(small) == 11_173_962
    assert count(large) - 3 * 64 * 3 * 3 + 3 * 64 * 7 * 7 == 11_689_512


def test_it_multiplies_as_often_as_published() -> None:
    """0.56 billion multiplications for an image of 32 × 32; a FLOP counter counts the additions too."""
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        resnet.ResNet18()(torch.empty(1, 3, 32, 32))
    assert counter.get_total_flops() == 2 * 555_422_720


def test_the_stages_halve_the_image_thrice() -> None:
    with torch.device("meta"):
        model, x = resnet.ResNet18(), torch.empty(2, 3, 32, 32)
        x = model.stem(x)
        shapes = [x.shape, *((x := stage(x)).shape for stage in model.stages)]
    assert shapes == [(2, 64, 32, 32), (2, 64, 32, 32), (2, 128, 16, 16), (2, 256, 8, 8), (2, 512, 4, 4)]


def test_a_block_adds_what_went_in() -> None:
    block = resnet.Block(4, 4).eval()
    torch.nn.init.zeros_(block.second[0].weight)
    x = torch.randn(2, 4, 8, 8)
    assert torch.equal(block(x), x.relu())


def test_a_batch_is_drawn_alike_each_time() -> None:
    images, classes = resnet.batch(3)
    assert images.shape == (3, 3, 32, 32)
    assert torch.equal(images, resnet.batch(3)[0])
    assert classes.tolist() == resnet.batch(3)[1].tolist()
