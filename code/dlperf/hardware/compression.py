"""Compressing a kilobyte, as a row of the classic table of latencies has it. The chapter *Hardware* tells the story."""

from __future__ import annotations

from functools import partial

import numpy as np

from dlperf.environment import lacking
from dlperf.hardware.probe import Unknown, probe
from dlperf.measurement import Measurement
from dlperf.timing import measure


def text(size: int) -> bytes:
    """Returns so many bytes that compress about as well as prose: words drawn from a few hundred."""
    rng = np.random.default_rng(0)
    words = [bytes(rng.integers(97, 123, rng.integers(2, 9)).astype(np.uint8)) for _ in range(300)]
    return b" ".join(words[i] for i in rng.zipf(1.5, size) % len(words))[:size]


@probe("1 KiB compressed with Snappy", "1,024 bytes of words; the library is called from Python, which is counted")
def snappy() -> Measurement:
    """Returns the seconds to compress a kibibyte; raises `Unknown` without cramjam, which brings Snappy."""
    try:
        from cramjam import snappy as library
    except ImportError:
        raise Unknown(lacking("cramjam")) from None
    return measure(partial(library.compress_raw, text(1024)), "Snappy", device="cpu")


PROBES = (snappy,)
