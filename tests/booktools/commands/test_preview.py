"""Which record a preview shows, and what it says of its choice."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from booktools.commands import preview
from booktools.commands.preview import distance, nearest
from booktools.executions.records import recorded_machines
from booktools.source.book import Book, BookError
from booktools.source.page import pages_with_cells
from tests.conftest import ROOT

PAGES = [f"p{number}" for number in range(4)]
LAPTOP = {"cpu": "AMD Ryzen 7", "microarchitecture": "znver4", "cores": 8, "gpus": [], "os": "Linux 6 x86_64"}


def machine(name: str, current: int = 4, stale: int = 0, **environment: Any) -> Any:
    """Returns a machine like `LAPTOP` but for what is given, with so many current pages and stale ones after them."""
    done = {page: SimpleNamespace(stale=("cells",) if n >= current else ()) for n, page in enumerate(PAGES)}
    known = {page: done[page] for page in PAGES[: current + stale]}
    made = LAPTOP | {"date": "2026-01-02T00:00:00Z"} | environment
    return SimpleNamespace(
        name=name, execution=known.get, environment=made, has=lambda need: need == "cuda" and bool(made["gpus"])
    )


GPU = machine("gpu", gpus=["NVIDIA H100"], cpu="Intel(R) Xeon(R)", cores=16)
INTEL = machine("intel", cpu="Intel(R) Core(TM) i7")
ARM = machine("arm", cpu="AMD Ryzen 7", os="Darwin 25 arm64")
SMALL = machine("small", cores=2)
LARGE = machine("large", cores=16)
ZEN2 = machine("zen2", microarchitecture="znver2")


@pytest.mark.parametrize(
    ("machines", "expected"),
    [
        ([GPU, INTEL], "intel"),
        ([GPU], "gpu"),
        ([ARM, INTEL], "intel"),
        ([INTEL, SMALL], "small"),
        ([SMALL, LARGE], "large"),
        ([LARGE, ZEN2], "zen2"),
        ([machine("one", 1), INTEL], "intel"),
        ([machine("one", 1), machine("intel", 2, cpu="Intel(R)")], "intel"),
        ([machine("three", 3), machine("four", 4)], "four"),
        ([machine("stale", 0, stale=4), machine("intel", 3, cpu="Intel(R)")], "intel"),
        ([machine("stale", 0, stale=4)], "stale"),
        ([machine("b"), machine("a")], "a"),
    ],
)
def test_without_a_gpu_the_nearest_cpu_that_is_current_for_most_pages(machines: list[Any], expected: str) -> None:
    assert nearest(machines, PAGES, LAPTOP).name == expected


@pytest.mark.parametrize(
    ("machines", "expected"),
    [
        ([INTEL, GPU], "gpu"),
        ([INTEL, machine("gpu", 2, stale=2, gpus=["NVIDIA H100"])], "intel"),
        ([machine("amd", gpus=["AMD MI300"]), GPU], "gpu"),
        ([GPU, machine("same", gpus=["NVIDIA L4"], cpu="Intel(R) Xeon(R)")], "same"),
        ([machine("four", gpus=["NVIDIA L4"] * 4), machine("two", gpus=["NVIDIA L4"] * 2)], "two"),
    ],
)
def test_with_a_gpu_the_nearest_gpu_whose_record_is_current(machines: list[Any], expected: str) -> None:
    assert nearest(machines, PAGES, LAPTOP | {"gpus": ["NVIDIA L4"]}).name == expected


def test_a_machine_is_at_no_distance_from_itself_and_names_of_one_architecture_are_one() -> None:
    assert not any(distance(LAPTOP, LAPTOP))
    assert not any(distance(LAPTOP | {"os": "Darwin 25 arm64"}, LAPTOP | {"os": "Linux 6 aarch64"}))
    assert any(distance(LAPTOP, LAPTOP | {"os": "Linux 6 aarch64"}))


def test_without_a_record_it_says_what_makes_one() -> None:
    with pytest.raises(BookError, match="make record"):
        nearest([machine("empty", 0)], PAGES, LAPTOP)


def test_it_says_why_and_what_is_stale_or_lent() -> None:
    shown = machine("amd", 2, stale=1)
    said = "\n".join(preview.reasons(shown, [shown, GPU], PAGES, LAPTOP | {"gpus": ["NVIDIA L4"]}))
    assert "Shown: amd (no GPU; AMD Ryzen 7, 8 cores, x86_64), recorded 2026-01-02." in said
    assert "This machine: NVIDIA L4; AMD Ryzen 7, 8 cores, x86_64." in said
    assert "this one for 2 of 4, it is the nearest" in said
    assert "MACHINE=gpu shows it" in said
    assert "records/amd/p2.ipynb is stale; changed since: cells" in said
    assert "p3: not in this record" in said


def test_the_committed_records_name_what_is_compared() -> None:
    """What is read of an environment is there under the same names, on this machine too."""
    book = Book(ROOT)
    for each in recorded_machines(book):
        assert preview.here().keys() <= each.environment.keys()
    assert nearest(recorded_machines(book), pages_with_cells(book), preview.here())


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """The editions that are asked for, none of which is built."""
    asked: list[tuple[str, bool]] = []
    monkeypatch.setattr(preview, "build", lambda book, name, quiet, planned: asked.append((name, planned)) or 0)
    monkeypatch.chdir(ROOT)
    return asked


def test_it_builds_the_record_and_prints_the_paths_to_open(
    built: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("MACHINE", raising=False)
    assert preview.main() == 0
    said = capsys.readouterr().out
    assert [f"Shown: {name}" in said for name, _ in built] == [True]
    for path in ("index.html", "zh/index.html"):
        assert str(ROOT / "_build" / "html" / path) in said


def test_machine_names_the_record_and_must_be_one(
    built: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MACHINE", "h100")
    assert preview.main() == 0
    assert "MACHINE=h100 names it." in capsys.readouterr().out
    for name in ("nowhere", "this"):
        monkeypatch.setenv("MACHINE", name)
        assert preview.main() != 0
    assert [name for name, _ in built] == ["h100"]


def test_the_readmes_name_it_first() -> None:
    for name in ("README.md", "README.zh.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert 0 < text.index("make preview") < text.index("make book"), name
    made = subprocess.run(["make", "help"], cwd=Path(ROOT), capture_output=True, text=True).stdout
    assert "preview" in made
