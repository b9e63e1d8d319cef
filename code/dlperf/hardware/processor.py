"""A core's clock, and what it does in a cycle: latency, parallelism among instructions, vectors, peak."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial

from llvmlite import binding

from dlperf.environment import cores, cpu_model, environment, pinnable_cores
from dlperf.hardware.minimum import quickest
from dlperf.hardware.probe import Unknown, probe
from dlperf.hardware.registers import UNROLLED, bits, chains, plenty, width
from dlperf.hardware.threads import at_once
from dlperf.measurement import Measurement
from dlperf.turns import columns

STEPS = 200_000
"""Steps of every chain in a sample: about a tenth of a millisecond, beside which a call does not count."""

TICK = ("int64", 1, 1)
"""A chain of whole numbers, one addition and one exclusive or a step: two cycles, if each takes one."""

PUBLISHED = {"skylake": 2, "znver1": 1, "znver2": 2, "znver3": 2, "znver4": 1, "znver5": 2}
"""The widest vectors that a core multiplies and adds per cycle, by LLVM's name for it.

Sources: Fog, Instruction tables, 2022; AMD, Software Optimization Guide for the AMD Zen5 Microarchitecture, 2024.
Zen 1 passes a 256-bit vector through two 128-bit units (Fog), Zen 4 a 512-bit one through the two 256-bit units of
Zen 3: Yee, Zen5's AVX512 Teardown, 2024.
"""


def clock(repeats: int = 11) -> Measurement:
    """Returns the cycles per second of the core that this thread runs on, by a chain of one-cycle operations."""
    return quickest({"clock": partial(chains(*TICK), STEPS)}, repeats)["clock"].per_second(2 * STEPS, "1")


def per_cycle(loops: dict[Hashable, tuple[str, int, int]], repeats: int = 11) -> dict[Hashable, Measurement]:
    """Returns the steps per cycle of each loop, all its chains together; a loop is its type, lanes and chains.

    The clock is measured in turn with them, for it changes with load and heat.
    """
    runs = {"clock": TICK, **loops}
    times = quickest({str(name): partial(chains(*loop), STEPS) for name, loop in runs.items()}, repeats)
    ratios = {name: times["clock"] / times[str(name)] for name in loops}
    return {
        name: replace(ratio, samples=tuple(loops[name][2] / 2 * x for x in ratio.samples))
        for name, ratio in ratios.items()
    }


def in_flight(counts: Sequence[int], dtype: str = "float32") -> dict[int, Measurement]:
    """Returns the scalar multiply-adds per cycle of so many independent chains."""
    return per_cycle({k: (dtype, 1, k) for k in counts})  # type: ignore[return-value]


def predicted(chains: int, latency: float, units: float) -> float:
    """Returns the steps per cycle that ``chains`` can make: each waits ``latency`` cycles, ``units`` work at a time."""
    return min(chains / latency, units)


def wide(dtypes: Sequence[str], repeats: int = 11) -> dict[tuple[str, int], Measurement]:
    """Returns the operations per cycle of each type, by (type, bits of a register): a step is two for each number."""
    widths = [w for w in (128, 256, 512) if w <= width()]
    loops = {(d, w): (d, w // bits(d), plenty()) for d in dtypes for w in widths}
    loops |= {(d, bits(d)): (d, 1, plenty()) for d in dtypes if d.startswith("float")}
    steps = per_cycle(loops, repeats)  # type: ignore[arg-type]
    return {
        key: replace(steps[key], samples=tuple(2 * loop[1] * x for x in steps[key].samples))
        for key, loop in loops.items()
    }


def fma_loop(cycles: int = 1_000_000) -> tuple[partial[float], int]:
    """Returns a loop of multiply-adds of the widest float32 vectors, and its FLOPs."""
    lanes, count = width() // 32, plenty()
    steps = 2 * cycles // count // UNROLLED * UNROLLED  # about as many cycles as said, if there are two units
    return partial(chains("float32", lanes, count), steps), 2 * lanes * count * steps


def peak(threads: int = 1, repeats: int = 15, tries: int = 3, cycles: int = 10_000_000) -> dict[str, Measurement]:
    """Returns what ``threads`` cores do at the same time in a loop of multiply-adds of the widest float32 vectors.

    ``clock`` is the sum of their clocks in 1/s, measured between the samples by the same threads; ``peak`` their
    FLOP/s; ``units`` the vectors that a core multiplies and adds per cycle. A sample is the quickest of ``tries``.
    """
    tick, ticks, (multiply, amount) = partial(chains(*TICK), cycles // 2), cycles // 2 * 2, fma_loop(cycles)
    at_once([tick] * threads)
    rows, lanes = [], width() // 32
    for _ in range(repeats):
        clock = threads * ticks / min(at_once([tick] * threads) for _ in range(tries))
        flops = threads * amount / min(at_once([multiply] * threads) for _ in range(tries))
        rows.append({"clock": clock, "peak": flops, "units": flops / clock / lanes / 2})
    return columns(rows, {"clock": "1/s", "peak": "FLOP/s", "units": "1"}, environment("cpu"))


def whole_units(units: Measurement) -> int:
    """Returns how many arithmetic units a core must have to do this many vectors per cycle: the nearest number."""
    return max(1, round(units.median))


def published_units() -> int:
    """Returns how many units the literature gives a core of this kind; `Unknown` where we have no source."""
    name = binding.get_host_cpu_name()
    if name not in PUBLISHED or "Ryzen AI" in cpu_model():  # Zen 5 for laptops has units of half the width
        raise Unknown(f"no published number of units is at hand for {name}")
    return PUBLISHED[name]


def of_theory(found: dict[str, Measurement], units: int) -> Measurement:
    """Returns what `peak` found over the sum of the clocks times lanes times 2 times whole ``units``."""
    lanes = width() // 32
    pairs = zip(found["peak"].samples, found["clock"].samples, strict=True)
    samples = tuple(flops / (clock * lanes * 2 * units) for flops, clock in pairs)
    return replace(found["units"], samples=samples, description="")


@probe("clock", assumes="an addition and an exclusive or of whole numbers take one cycle each")
def clock_probe() -> Measurement:
    """Returns the cycles per second of one core under a light load."""
    return clock()


@probe("FMA latency", assumes="the compiler keeps a chain of multiply-adds as it is")
def latency_probe() -> Measurement:
    """Returns the seconds after which the result of a multiply-add can be used."""
    times = quickest({"FMA latency": partial(chains("float32", 1, 1), STEPS)})["FMA latency"]
    return replace(times, samples=tuple(t / STEPS for t in times.samples))


@probe("FMA peak, one core", assumes="float32, the widest vectors that LLVM knows of, no matrix unit")
def peak_probe() -> Measurement:
    """Returns the FLOP/s of one core that multiplies and adds in its registers."""
    return peak(1)["peak"]


@probe("FMA peak, all cores", assumes="as for one core; every core that this process may use")
def peak_all_probe() -> Measurement:
    """Returns the FLOP/s of all cores at the same time."""
    threads = min(len(pinnable_cores()), cores())  # a container may see more cores than it gets time on
    if threads < 2:
        raise Unknown("this process may use one core, or cannot pin threads to cores: see the peak of one core")
    return peak(threads)["peak"]


PROBES = (clock_probe, latency_probe, peak_probe, peak_all_probe)
