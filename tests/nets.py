"""Networks that the hosts of a test can make, in a module that they import quickly."""

from __future__ import annotations

from torch import nn


def small_net() -> nn.Module:
    """Returns a network for images of 32 by 32, without normalisation, so that a batch may be cut anywhere."""
    return nn.Sequential(nn.Conv2d(3, 8, 3, stride=4), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 8 * 8, 10))
