"""What this machine can do: probes of its memory, processor, storage, networks and accelerators.

``python -m dlperf.hardware`` runs them all. Their inner loops are compiled by Numba, because an interpreter's
would measure the interpreter. The chapter *Hardware* tells the story.
"""

try:
    import numba  # noqa: F401
    import psutil  # noqa: F401
    import tqdm  # noqa: F401
except ImportError as error:
    raise ImportError(f"dlperf.hardware lacks a package ({error}); pip install 'dlperf[hardware]' brings it") from None

from dlperf.hardware import (
    branches,
    fresh,
    locks,
    probe,
    processor,
    products,
    quickest,
    registers,
    roofline,
    threads,
    trusted,
)
from dlperf.hardware.probe import Probe, Unknown

__all__ = [
    "Probe",
    "Unknown",
    "branches",
    "fresh",
    "locks",
    "probe",
    "processor",
    "products",
    "quickest",
    "registers",
    "roofline",
    "threads",
    "trusted",
]
