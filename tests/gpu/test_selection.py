"""The rehearsal on two GPUs executes the cells that may do something else there than on one, and what they need."""

from __future__ import annotations

import nbformat
import pytest
from rehearsal.left_out import NOT_REHEARSED, as_if_rehearsed, left_out, named
from rehearsal.selection import from_a_gpu, needed, unlike_on_more

from dlperf.records import MIME, PREFIX
from tests.conftest import ROOT
from tests.gpu.conftest import PAGES, Rehearsals, sources

DLPERF = ROOT / "code" / "dlperf"


@pytest.mark.parametrize(
    ("cells", "used", "kept"),
    [
        (["x = 1", "y = 2", "print(x)"], {2}, {0, 2}),
        (["x = 1", "y = x", "print(y)"], {2}, {0, 1, 2}),  # through another
        (["x = []", "x.append(1)", "x[0] = 2", "x.a = 3", "x += [4]", "print(x)"], {5}, {0, 1, 2, 3, 4, 5}),
        (["x = []", "y = x[0]", "print(x)"], {2}, {0, 2}),  # a cell that only reads it
        (["x = 1", "x = 2\nprint(x)"], {1}, {1}),  # bound there before it is read
        (["x = 1", "x = 2", "print(x)"], {2}, {1, 2}),  # bound anew before it is read
        (["x = 1", "x += 1", "print(x)"], {2}, {0, 1, 2}),
        (["x = 1", "if u: x = 2", "print(x)"], {2}, {0, 1, 2}),
        (["x = 1", "if u: x = 2\nprint(x)"], {1}, {0, 1}),  # perhaps bound
        (["x = 1", "for x in 'ab': print(x)"], {1}, {1}),
        (["x = 1", "y = [x for x in 'ab']"], {1}, {1}),
        (["x = 1", "f = lambda x: x"], {1}, {1}),
        (["x = 1", "def f(y):\n    return x + y"], {1}, {0, 1}),  # read when it is called
        (["def f(): pass", "import g", "f(g)"], {2}, {0, 1, 2}),
        (["import torch", "torch.set_num_threads(1)", "torch.ones(1)"], {2}, {0, 1, 2}),  # a setting
        (["from dlperf import plot", "plot.points(1)", "plot.figure()"], {2}, {0, 2}),  # the book's own keep none
    ],
)
def test_a_cell_needs_those_that_bind_or_change_what_it_reads(cells: list[str], used: set[int], kept: set[int]) -> None:
    assert needed(cells, used) == kept


@pytest.mark.parametrize(
    ("cells", "used", "chosen", "given"),
    [
        (["x = 1", "print(x)"], {0}, {1}, {"x"}),
        (["x = 1", "y = x", "print(y)"], {0}, {2}, {"y"}),
        (["x = 1", "x = 2", "print(x)"], {0}, {2}, set()),  # bound anew
        (["x = []", "x.append(1)", "print(x)"], {1}, {2}, {"x"}),
        (["import torch", "torch.zeros(1).cuda()", "torch.ones(1)"], {0, 1}, {2}, set()),
        (["known = 1", "print(known)"], {0}, {1}, set()),
    ],
)
def test_what_cells_take_from_those_that_use_a_gpu(
    cells: list[str], used: set[int], chosen: set[int], given: set[str]
) -> None:
    assert from_a_gpu(cells, used, chosen, frozenset({"known"})) == given


@pytest.mark.parametrize(
    ("cells", "counting", "unlike"),
    [
        (["d = try_gpu()", "x = d"], set(), set()),
        (["all = try_all_gpus()", "d = try_gpu()", "x = all", "y = x"], {0}, {0, 2, 3}),
    ],
)
def test_what_may_do_something_else_with_two_gpus(cells: list[str], counting: set[int], unlike: set[int]) -> None:
    assert unlike_on_more(cells, set(range(len(cells))), counting) == unlike
    assert unlike_on_more(cells, counting, counting) == counting


def test_cells_that_are_not_rehearsed_are_named_once() -> None:
    assert NOT_REHEARSED.keys() <= set(PAGES)
    for page, said in NOT_REHEARSED.items():
        assert len(named(page, sources(page))) == len(said.cells)
    with pytest.raises(ValueError, match="concise has 0 cells that begin with 'one = "):
        named("concise", ["print()"])


def test_an_executed_cell_gets_the_environment_of_a_rehearsal() -> None:
    key, other = PREFIX + MIME, {"cpu": "x", "accelerator": "GPU"}
    content = {"value": 1, "environment": {"cpu": "x"}, "sides": [{"environment": {"cpu": "y"}, "samples": [2]}]}
    output = nbformat.v4.new_output("display_data", {key: content, "text/plain": "1"})
    cell = nbformat.v4.new_code_cell("a", outputs=[output, nbformat.v4.new_output("stream", text="2")])
    [changed, said] = as_if_rehearsed({3: cell}, other)[3].outputs
    assert changed.data == {
        key: {"value": 1, "environment": other, "sides": [{"environment": other, "samples": [2]}]},
        "text/plain": "1",
    }
    assert said.text == "2"
    assert content["environment"] == {"cpu": "x"}  # that of the cell is as it was


def test_whoever_counts_gpus_asks_the_book_for_all_of_them() -> None:
    """But for scripts that readers take along, which processes of their own run."""
    counts = lambda path: "device_count()" in path.read_text(encoding="utf-8")
    modules = {str(path.relative_to(DLPERF)) for path in DLPERF.rglob("*.py") if counts(path)}
    assert {name for name in modules if not name.startswith("concise/ladder/")} == {"device.py", "multigpu/plain.py"}
    assert not [page for page in PAGES for cell in sources(page) if "device_count()" in cell]


@pytest.mark.parametrize("page", PAGES)
def test_what_is_not_rehearsed_takes_nothing_from_a_gpu(rehearsals: Rehearsals, page: str) -> None:
    one, cells = rehearsals(page, 1), sources(page)
    print(f"{page}: not rehearsed: {sorted(one.left_out)}")
    assert one.left_out in (set(), left_out(page, cells))
    assert not one.left_out & needed(cells, one.using)
    given = NOT_REHEARSED[page].given if page in NOT_REHEARSED else frozenset()
    assert from_a_gpu(cells, one.using, left_out(page, cells), given) == set()


@pytest.mark.parametrize("page", PAGES)
def test_what_counts_gpus_is_rehearsed_on_two(rehearsals: Rehearsals, page: str) -> None:
    """And counts them there too; `tests/long/gpu` rehearses the others, and compares the lines that they reach."""
    one, two = (rehearsals(page, devices) for devices in (1, 2))
    print(
        f"{page}: {sorted(one.counting)} count; not rehearsed on two: {sorted(one.seconds.keys() - two.seconds.keys())}"
    )
    assert one.counting <= one.using
    assert one.counting <= two.counting <= two.using
