"""What a machine tells of itself: its processor's design too, where a name hides it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from llvmlite import binding

from dlperf import environment
from dlperf.environment import (
    _quota,
    cache_bytes,
    cores,
    cpu_model,
    cpu_number,
    machine,
    microarchitecture,
    pinnable_cores,
)

EPYC = """processor\t: 0
cpu family\t: {family}
model\t\t: {model}
model name\t: AMD EPYC
flags\t\t: fpu hypervisor
"""
ARM = """processor\t: 0
CPU implementer\t: 0x41
CPU architecture: 8
CPU part\t: 0xd0c
"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which this system tells of its processor, to be written."""
    monkeypatch.setattr(environment, "CPUINFO", str(tmp_path / "cpuinfo"))
    return tmp_path / "cpuinfo"


def without_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("llvmlite", "llvmlite.binding"):
        monkeypatch.setitem(sys.modules, name, None)


def test_two_designs_of_one_name_are_two_machines(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In what they measure on, and in what makes a page execute anew."""
    without_llvm(monkeypatch)
    seen = []
    for family, model in ((25, 17), (26, 2)):
        told.write_text(EPYC.format(family=family, model=model), encoding="ascii")
        seen.append((cpu_model(), microarchitecture(), machine()))
    assert [name for name, _, _ in seen] == ["AMD EPYC"] * 2
    assert [design for _, design, _ in seen] == ["family 25 model 17", "family 26 model 2"]
    assert seen[0][2] != seen[1][2]


def test_an_arm_tells_by_numbers_only(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_llvm(monkeypatch)
    told.write_text(ARM, encoding="ascii")
    assert microarchitecture() == "implementer 0x41 part 0xd0c"


def test_a_system_that_tells_nothing_has_no_design(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_llvm(monkeypatch)
    assert cpu_number() is microarchitecture() is None  # there is no such file


def test_where_llvm_knows_the_design_its_word_is_taken(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told.write_text(EPYC.format(family=25, model=17), encoding="ascii")
    for llvm, design in (("znver4", "znver4"), ("generic", "family 25 model 17")):
        monkeypatch.setattr(binding, "get_host_cpu_name", lambda llvm=llvm: llvm)
        assert microarchitecture() == design


def test_a_library_that_cannot_be_loaded_is_none(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(name: str) -> None:
        raise OSError("Could not find/load shared object file")

    monkeypatch.setattr(environment.importlib, "import_module", refuses)
    told.write_text(EPYC.format(family=25, model=17), encoding="ascii")
    assert microarchitecture() == "family 25 model 17"


def test_an_environment_has_it() -> None:
    assert environment.environment()["microarchitecture"] == microarchitecture()


def test_asking_for_the_machine_imports_neither_pytorch_nor_llvm() -> None:
    """The build asks at every start."""
    code = (
        "import sys; from dlperf.environment import machine; machine(); print({'torch', 'llvmlite'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


@pytest.mark.parametrize(
    ("limit", "cores"),
    [("150000 100000", 1), ("200000 100000", 2), ("50000 100000", 1), ("max 100000", None), ("", None)],
)
def test_a_quota_counts_as_whole_cores(tmp_path: Path, limit: str, cores: int | None) -> None:
    assert _quota(tmp_path) is None
    (tmp_path / "cpu.max").write_text(limit)
    assert _quota(tmp_path) == cores


@pytest.mark.parametrize(("limit", "cores"), [("250000", 2), ("-1", None)])
def test_a_quota_of_the_older_kind_counts_too(tmp_path: Path, limit: str, cores: int | None) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text(limit)
    (tmp_path / "cpu/cpu.cfs_period_us").write_text("100000")
    assert _quota(tmp_path) == cores


def test_cache_bytes_adds_up_the_last_level_and_counts_a_shared_cache_once(tmp_path: Path) -> None:
    for core in range(4):
        for level, size, sharers in ((1, "32K", str(core)), (3, "1024K", "0-1" if core < 2 else "2-3")):
            index = tmp_path / f"cpu{core}/cache/index{level}"
            index.mkdir(parents=True)
            for name, value in {"level": level, "size": size, "shared_cpu_list": sharers}.items():
                (index / name).write_text(f"{value}\n")
    assert cache_bytes(tmp_path) == 2 * 2**20
    assert cache_bytes(tmp_path / "nothing") == 0


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not pin")
def test_places_take_the_second_thread_of_a_core_last(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}
    told = lambda path, **_: threads[int(path.parts[5].removeprefix("cpu"))] + "\n"
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(threads))
    monkeypatch.setattr(Path, "read_text", told)
    assert pinnable_cores() == [0, 1, 2, 3]
    threads.update({0: "0-1", 1: "0-1", 2: "2-3", 3: "2-3"})
    assert pinnable_cores() == [0, 2, 1, 3]


def test_environment_tells_the_threads_of_this_moment() -> None:
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(threads + 1)
        assert environment.environment()["threads"] == threads + 1
    finally:
        torch.set_num_threads(threads)


def test_environment_says_what_and_when() -> None:
    here = environment.environment()
    assert here["torch"] == torch.__version__
    assert here["cores"] == cores()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", str(here["date"]))
