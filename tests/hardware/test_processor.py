"""The loops of the processor's probes: that they compute what they say, with the instructions that they say."""

from __future__ import annotations

import platform
import re

import numba
import numpy as np
import pytest
import torch

from dlperf.hardware import Unknown, branches, locks, matmul, processor, registers
from dlperf.measurement import Measurement

x86 = pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="not x86")


def expected(dtype: str, count: int, steps: int) -> float:
    """What the chains must come to, in NumPy."""
    x = np.arange(1, count + 1).astype(dtype)
    for _ in range(steps):
        x = (x * 0.5 + 1).astype(dtype) if dtype.startswith("float") else ((x + 3) ^ 5).astype(dtype)
    return float(x.sum(dtype=dtype))


@pytest.mark.parametrize(
    ("dtype", "lanes"), [("float32", 1), ("float32", 8), ("float64", 4), ("int32", 1), ("int8", 16)]
)
@pytest.mark.parametrize("count", [1, 5])
def test_a_chain_computes_what_it_says(dtype: str, lanes: int, count: int) -> None:
    for steps in (registers.UNROLLED, 7 * registers.UNROLLED):
        assert registers.chains(dtype, lanes, count)(steps) == pytest.approx(expected(dtype, count, steps), rel=1e-6)


@x86
@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int8"])
def test_a_chain_uses_the_widest_registers_and_no_memory(dtype: str) -> None:
    widest = registers.width()
    name = {512: "zmm", 256: "ymm", 128: "xmm"}[widest]
    lanes, count = widest // registers.bits(dtype), registers.plenty()
    text = registers.assembly(registers.chains(dtype, lanes, count))
    wanted = rf"vfmadd\w+p[sd]\s+%{name}" if dtype.startswith("float") and widest > 128 else rf"add\w*\s.*%{name}"
    assert len(re.findall(wanted, text)) >= count
    assert not re.search(rf"\(%rsp\), %{name}", text), "a chain was spilled into memory"


@x86
def test_the_clock_s_chain_is_seldom_interrupted() -> None:
    """A jump, a count and a comparison for each step of two cycles would take a part of them."""
    lines = registers.assembly(registers.chains(*processor.TICK)).splitlines()
    steps = [i for i, line in enumerate(lines) if re.search(r"\sxor\w*\s+%r\w+, %r\w+", line)]
    assert len(steps) >= registers.UNROLLED
    round_ = lines[steps[0] : steps[registers.UNROLLED - 1]]
    assert not [line for line in round_ if re.search(r"\sj\w+\s", line)]


def test_every_loop_is_asked_for_whole_rounds() -> None:
    assert processor.STEPS % registers.UNROLLED == 0
    run, flops = processor.fma_loop(10**6)
    (steps,) = run.args
    assert steps % registers.UNROLLED == 0
    assert flops == 2 * registers.width() // 32 * registers.plenty() * steps


@x86
def test_a_scalar_chain_is_not_vectorized() -> None:
    text = registers.assembly(registers.chains("float32", 1, 8))
    assert not re.search(r"vfmadd\w+p[sd]", text)


@x86
@pytest.mark.parametrize("lanes", [1, registers.width() // 32])
def test_as_many_chains_as_stand_in_the_figure_fit_the_registers(lanes: int) -> None:
    lines = registers.assembly(registers.chains("float32", lanes, min(16, registers.plenty()))).splitlines()
    steps = [i for i, line in enumerate(lines) if "vfmadd" in line]
    loop = lines[steps[0] : steps[-1]] if steps else []
    assert not [line for line in loop if "(%rsp)" in line and "mm" in line], "a chain was spilled into memory"


def test_the_prediction_is_the_lesser_of_latency_and_units() -> None:
    assert [processor.predicted(k, latency=4, units=2) for k in (1, 4, 8, 16)] == [0.25, 1, 2, 2]


def test_units_are_whole() -> None:
    assert processor.whole_units(Measurement((1.93, 1.9), "1")) == 2
    assert processor.whole_units(Measurement((0.2,), "1")) == 1


def test_of_theory_is_one_where_every_factor_is_given() -> None:
    lanes = registers.width() // 32
    found = {"clock": Measurement((3e9,), "1/s"), "peak": Measurement((3e9 * lanes * 4,), "FLOP/s")}
    found["units"] = Measurement((2.0,), "1")
    assert processor.of_theory(found, 2).median == pytest.approx(1)


def test_units_are_published_for_some_cores_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor.binding, "get_host_cpu_name", lambda: "znver5")
    monkeypatch.setattr(processor, "cpu_model", lambda: "AMD EPYC")
    assert processor.published_units() == 2
    monkeypatch.setattr(processor, "cpu_model", lambda: "AMD Ryzen AI 9 HX 370")
    with pytest.raises(Unknown, match="znver5"):
        processor.published_units()


def test_the_peak_of_all_cores_needs_two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "pinnable_cores", lambda: [0])
    with pytest.raises(Unknown, match="one core"):
        processor.peak_all_probe()


def test_the_peak_of_all_cores_counts_a_containers_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor, "pinnable_cores", lambda: [0, 1, 2, 3])
    monkeypatch.setattr(processor, "cores", lambda: 1)
    with pytest.raises(Unknown, match="one core"):
        processor.peak_all_probe()


def test_keep_finds_what_numpy_finds() -> None:
    values = np.random.default_rng(1).integers(0, 256, 1000).astype(np.uint8)
    kept = np.empty(1000, np.int32)
    n = branches.keep(values, 100, kept)
    assert kept[:n].tolist() == np.flatnonzero(values < 100).tolist()


@x86
def test_keep_branches_and_selects_nothing() -> None:
    keep = numba.njit(nogil=True)(branches.keep.py_func)  # what comes out of Numba's cache has no assembly
    keep(np.zeros(1, np.uint8), 1, np.empty(1, np.int32))
    text = "".join(keep.inspect_asm().values())
    assert not re.search(r"\bset[a-z]+\b|vpcompress|vpmaskmov", text)


def test_an_atomic_addition_adds() -> None:
    counter = np.zeros(1, np.int64)
    assert locks.add_atomically(counter, 1000) == 1000


def test_a_mutex_is_free_again() -> None:
    try:
        words, loop = locks.mutex(), locks.mutex_loop()
    except Unknown as unknown:
        pytest.skip(str(unknown))
    assert loop(words, 10) == 10
    assert loop(words, 5) == 15


def test_products_agree() -> None:
    n = 32
    made = matmul.floats(n, torch.float32)()
    assert torch.allclose(matmul.by_onednn(n)().to_dense(), made, atol=1e-4)
    left, right = matmul.integers(n).args
    assert torch.equal(matmul.integers(n)(), left.int() @ right.int())
