"""Probes of this machine's memory, processor, storage, networks and accelerators.

``python -m dlperf.hardware`` runs them all. Their inner loops are compiled by Numba, because an interpreter's
would measure the interpreter. The chapter *Hardware* tells the story.

What every probe needs
``probe``            a question to the machine, what it assumes, the refusal to guess
``minimum``          samples for what only hardware limits: the quickest of a few runs
``threads``          compiled loops at the same time, each on a core of its own
``reference_tools``  mbw, fio, iperf3, perf: asked the same question, by the tests
``survey``           every probe in one run; machines side by side

What is in the machine
``inventory``        cores, caches, memory, disks, networks, accelerators
``drawings``         the machine, a cache line, chains, a roofline, a systolic array
``disks``            what disk a folder is on

Memory
``pointer_chase``    latency: loads whose address is the result of the load before
``access_patterns``  one word after the other, in strides
``stream``           bandwidth of one core and of all
``caches``           what the system reports, and a model that counts hits and misses
``false_sharing``    two cores that write to one cache line
``atomics``          loads, stores and additions one by one
``locks``            an atomic addition and a mutex

Processor
``registers``        loops that stay in the registers
``processor``        clock, latency, lanes, units, peak
``smt``              whether two cores are two
``branches``         what a wrongly predicted branch costs
``matmul``           what libraries make of the units
``roofline``         what a step attains of this machine's roof, and where the rest goes
``products``         the products of a step and its variants, each alone
``systolic``         a grid of multipliers, cycle by cycle
``compression``      compressing a kilobyte

Storage, links, accelerators
``storage``          reads and writes by size, order and depth
``blocks``           compiled loops that read or write block after block
``core_to_core``     a flag in a cache line, and messages copied in and out
``links``            messages from one core, process or host to another
``alpha_beta``       a latency, and a time for every byte
``token_bucket``     a link that is limited: its burst, and the most that TCP gets
``accelerator``      products, memory, launches and bus of a GPU
"""

from dlperf.environment import lacking

try:
    import numba  # noqa: F401
    import psutil  # noqa: F401
    import tqdm  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError(f"dlperf.hardware needs more than dlperf: {lacking(error.name or str(error))}") from None

from dlperf.hardware import (
    accelerator,
    access_patterns,
    alpha_beta,
    atomics,
    blocks,
    branches,
    caches,
    compression,
    core_to_core,
    disks,
    drawings,
    false_sharing,
    inventory,
    links,
    locks,
    matmul,
    minimum,
    pointer_chase,
    probe,
    processor,
    products,
    reference_tools,
    registers,
    roofline,
    smt,
    storage,
    stream,
    survey,
    systolic,
    threads,
    token_bucket,
)
from dlperf.hardware.probe import Probe, Unknown

__all__ = [
    "Probe",
    "Unknown",
    "accelerator",
    "access_patterns",
    "alpha_beta",
    "atomics",
    "blocks",
    "branches",
    "caches",
    "compression",
    "core_to_core",
    "disks",
    "drawings",
    "false_sharing",
    "inventory",
    "links",
    "locks",
    "matmul",
    "minimum",
    "pointer_chase",
    "probe",
    "processor",
    "products",
    "reference_tools",
    "registers",
    "roofline",
    "smt",
    "storage",
    "stream",
    "survey",
    "systolic",
    "threads",
    "token_bucket",
]
