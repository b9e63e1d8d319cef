"""Asking a machine, keeping what it said, and refusing to guess; the devices that multiply."""

from __future__ import annotations

import platform
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from dlperf.hardware import Unknown, accelerator, compression, probe, smt, survey, systolic
from dlperf.hardware.__main__ import main
from dlperf.measurement import Measurement


@probe.probe("a known thing", "nothing")
def known() -> Measurement:
    return Measurement((1e-6, 2e-6, 3e-6))


@probe.probe("a hidden thing", "that it can be seen")
def hidden() -> Measurement:
    raise Unknown("it is hidden here")


def test_a_refusal_is_an_answer(tmp_path: Path) -> None:
    said = survey.ask([known, hidden], progress=False)
    assert said.answers[known.key].measurement == known()
    assert said.answers[hidden.key].measurement is None
    assert said.answers[hidden.key].refusal == "it is hidden here"
    said.save(tmp_path / "here.json")
    again = survey.load(tmp_path / "here.json")
    assert again == said
    text = survey.lines([said, again])
    assert text[1].count(known().summary()) == 2
    assert text[2].split()[-2:] == ["unknown", "unknown"]
    assert text[-1] == "unknown: it is hidden here"


def test_machines_side_by_side_tell_their_processors_designs(tmp_path: Path) -> None:
    """Surveys from before designs were kept show the name alone."""
    said = survey.ask([known], progress=False)
    one, other, old = (
        replace(said, environment={"cpu": "AMD EPYC", "cores": 2, **more})
        for more in ({"microarchitecture": "znver3"}, {"microarchitecture": None}, {})
    )
    heads = survey.lines([one, other, old])[0]
    assert re.split("  +", heads) == ["probe", "AMD EPYC znver3, 2 cores", *["AMD EPYC, 2 cores"] * 2]


def test_what_is_no_survey_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"machine": {}}', encoding="utf-8")
    with pytest.raises(ValueError, match="is not a survey of a machine"):
        survey.load(path)


def test_the_command_writes_and_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "PROBES", (known, hidden))
    main(["--only", "known", "--save", str(tmp_path / "a.json")])
    main(["--read", str(tmp_path / "a.json"), str(tmp_path / "a.json")])
    shown = capsys.readouterr().out
    assert shown.count("a known thing") == 2
    assert "a hidden thing" not in shown
    for wrong, says in (
        (["--only", "zebra"], "there are: a known thing"),
        (["--save", str(tmp_path / "no/a.json")], "no folder"),
    ):
        with pytest.raises(SystemExit):
            main(wrong)
        assert says in capsys.readouterr().err


def test_every_probe_has_a_name_of_its_own_and_says_what_it_assumes() -> None:
    keys = [each.key for each in survey.PROBES]
    assert len(set(keys)) == len(keys)
    assert "pointer-chase-l1" in keys
    assert all(each.assumes and each.name for each in survey.PROBES)
    assert len({each.name for each in survey.PROBES}) == len(keys)


@given(st.integers(1, 6), st.integers(1, 9), st.integers(1, 6), st.integers(0, 99))
def test_a_systolic_array_multiplies(n: int, k: int, m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-9, 9, (n, k)), rng.integers(-9, 9, (k, m))
    run = systolic.multiply(a, b)
    np.testing.assert_array_equal(run.product, a @ b)
    assert (run.cycles, run.reads, run.operations) == (k + n + m - 2, n * k + k * m, n * k * m)
    with pytest.raises(ValueError, match="is no product"):
        systolic.multiply(a, np.zeros((k + 1, m)))


def test_a_systolic_array_needs_every_cycle() -> None:
    """The last multiplier gets its last pair in the last cycle: one less would lose a term."""
    run = systolic.multiply(np.ones((4, 5)), np.ones((5, 3)))
    assert run.use == pytest.approx(5 / run.cycles)


def test_the_chains_are_neither_folded_nor_vectorised() -> None:
    """They do what NumPy's integers do, by scalar instructions: at least a multiplication for each chain."""
    x = np.array([5, 6, 7, 8, 9, 10, 11, 12], dtype=np.int64)
    for _ in range(3):
        x = (x ^ (x >> 29)) * 6364136223846793005
    assert smt.chain(3, 5) == x[0]
    assert smt.eight_chains(3, 5) == x.sum()
    for loop, chains in ((smt.chain, 1), (smt.eight_chains, 8)):
        fresh = njit(nogil=True)(loop.py_func)  # what comes from Numba's cache cannot be looked into
        fresh(1, 0)
        (assembly,) = fresh.inspect_asm().values()
        assert "vpmul" not in assembly
        assert platform.machine() not in ("x86_64", "AMD64") or assembly.count("imul") >= chains


def test_two_cores_cannot_be_compared_on_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smt, "cores", lambda: 1)
    with pytest.raises(Unknown, match="one core"):
        smt.slowdown(smt.chain)


def test_products_and_copies_are_what_they_say() -> None:
    times = accelerator.products([32], [torch.float32, torch.float64], "cpu", repeats=2)
    assert set(times) == {(torch.float32, 32), (torch.float64, 32)}
    assert {m.unit for m in times.values()} == {"FLOP/s"}
    run = accelerator.product(16, torch.float32, "cpu")
    a, b = run.args  # type: ignore[attr-defined]
    torch.testing.assert_close(run(), a @ b)
    assert accelerator.copies([4096], "cpu", repeats=2)[4096].unit == "B/s"


def test_a_type_is_not_tried_where_it_would_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    at_256 = {"torch.float32": 0.001, "torch.bfloat16": 0.1, "torch.float64": 0.6}  # seconds; eight times at 512
    side = 256

    def compare(sides: dict[str, object], **options: object) -> dict[str, Measurement]:
        return {name: Measurement((at_256[name] * (side / 256) ** 3,) * 5) for name in sides}

    def product(n: int, dtype: torch.dtype, device: str) -> None:
        nonlocal side
        side = n

    monkeypatch.setattr(accelerator, "compare", compare)
    monkeypatch.setattr(accelerator, "product", product)
    types = [torch.float32, torch.bfloat16, torch.float64]
    tried = accelerator.products([256, 512, 1024, 8192], types, "cpu")
    assert {n for dtype, n in tried if dtype == torch.float32} == {256, 512, 1024}
    assert {n for dtype, n in tried if dtype != torch.float32} == {256}


def test_without_a_gpu_there_is_nothing_to_cross() -> None:
    for ask in (
        lambda: accelerator.crossings([8], torch.device("cpu")),
        lambda: accelerator.launch(torch.device("cpu")),
    ):
        with pytest.raises(Unknown, match="no GPU"):
            ask()


def test_words_compress_as_prose_does() -> None:
    import gzip

    assert len(compression.text(1024)) == 1024
    assert 0.3 < len(gzip.compress(compression.text(1024))) / 1024 < 0.8
