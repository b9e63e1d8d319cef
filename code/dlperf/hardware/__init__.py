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
    accelerator,
    alphabeta,
    atomics,
    blocks,
    branches,
    caches,
    chase,
    compression,
    diagram,
    disks,
    fresh,
    inventory,
    lines,
    links,
    locks,
    order,
    probe,
    processor,
    products,
    quickest,
    registers,
    roofline,
    sharing,
    siblings,
    storage,
    stream,
    survey,
    systolic,
    threads,
    topology,
    trusted,
)
from dlperf.hardware.probe import Probe, Unknown

__all__ = [
    "Probe",
    "Unknown",
    "accelerator",
    "alphabeta",
    "atomics",
    "blocks",
    "branches",
    "caches",
    "chase",
    "compression",
    "diagram",
    "disks",
    "fresh",
    "inventory",
    "lines",
    "links",
    "locks",
    "order",
    "probe",
    "processor",
    "products",
    "quickest",
    "registers",
    "roofline",
    "sharing",
    "siblings",
    "storage",
    "stream",
    "survey",
    "systolic",
    "threads",
    "topology",
    "trusted",
]
