"""A link that a token bucket limits: what TCP gets over it at most, and the line through messages that it leaves alone.

A bucket that is full lets so many bytes pass at once, and fills again while nobody sends. So it hides a part of the
latency of a message that is about as long as it is deep, and a fit that includes such messages finds a bandwidth that
the link never gives. The chapter *Hardware* tells the story.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean

from dlperf.alpha_beta import Line, fit

DEPTH = 93_750
"""The bytes of the bucket that `dlperf.network` gives a link of 1 Gbit/s."""

PAYLOAD, FRAME = 1448, 1514
"""The bytes of a message in a full frame of TCP (with time stamps, MTU 1500), and those that the limiter counts.

On a wire of Ethernet a frame takes 24 bytes more: check sum, preamble and gap.
"""


def most(rate: float) -> float:
    """Returns the bytes per second of a long message by TCP where frames are limited to ``rate`` bytes per second."""
    return rate * PAYLOAD / FRAME


def left_alone(size: float, depth: float = DEPTH) -> bool:
    """Returns whether a bucket of ``depth`` bytes hardly changes the time of a message of ``size`` bytes.

    That is so for those of a single frame, and for those of 32 buckets or more, of which one is 3 %.
    """
    return size <= PAYLOAD or size >= 32 * depth


def check(sizes: Sequence[float], seconds: Sequence[float], depth: float = DEPTH) -> tuple[Line, float]:
    """Returns the line fitted to the messages that are `left_alone`, and the mean relative error of all others.

    Raises ValueError where no line goes through, or where no message is left for either.
    """
    points = list(zip(sizes, seconds, strict=True))
    known = [(n, t) for n, t in points if left_alone(n, depth)]
    others = [(n, t) for n, t in points if not left_alone(n, depth)]
    if not known or not others:
        raise ValueError(f"a line and its check need messages below and above {depth} B, got {sizes}")
    line = fit(*zip(*known, strict=True))
    return line, mean(abs(line(n) / t - 1) for n, t in others)
