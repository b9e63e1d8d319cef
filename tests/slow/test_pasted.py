"""The cells of *Why is my training slow?*, pasted into programs whose models are not the book's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from itertools import accumulate, cycle
from pathlib import Path
from time import sleep
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.data import IterableDataset

from tests import pasted
from tests.diagnosis import PAGE, Names, define, shown
from tests.pasted import PROGRAMS, TOP, TRAINS, Pasted, Residual, images, needs, program, sections, series
from tests.torchrun import ALONE


@pytest.fixture
def _as_before() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    assert torch.get_num_threads() == threads  # a pasted cell leaves them alone
    torch.compiler.reset()


def test_each_leaf_names_cells_that_are_there_and_both_languages_name_the_same() -> None:
    found = needs()
    assert found == needs(PAGE.parents[1] / "zh" / PAGE.name)
    assert len(found) > 20
    assert all(after[:1] == [TOP] for after in found.values())
    assert {each for after in found.values() for each in after} <= set(sections())


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on machines of few cores
@pytest.mark.usefixtures("_as_before")
@pytest.mark.parametrize(("leaf", "own"), list(zip(needs(), cycle(PROGRAMS))))
def test_a_leaf_runs_after_the_cells_that_it_needs_and_no_others(leaf: str, own: str) -> None:
    """Each leaf in one program here, in turn; `tests/long/test_pasted.py` pastes each into all."""
    torch.manual_seed(0)
    check_leaf(Pasted(PROGRAMS[own]()), leaf)


def check_leaf(pasted: Pasted, leaf: str) -> None:
    """Fails where a leaf's cells, pasted after those that it needs, raise, or leave another model than they found."""
    forward = pasted.names["model"].forward
    pasted.leaf(leaf, only=None if pasted.names["model"].__class__ is Residual else TRAINS)
    assert pasted.names["model"].forward == forward


def test_what_two_ranks_paste_a_single_one_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A leaf and what the page prints for several processes, in one program; `tests/long` starts two ranks."""
    monkeypatch.setattr(pasted, "PROGRAMS", {"words": PROGRAMS["words"]})
    for name, value in ALONE.items():
        monkeypatch.setenv(name, value)
    threads, out = torch.get_num_threads(), tmp_path / "found.json"
    try:
        pasted.main(out, "slow-number")
    finally:
        torch.set_num_threads(threads)
        if torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
    found = json.loads(out.read_text(encoding="ascii"))["words"]
    assert found["leaves"] == ["slow-number"]
    assert found["sent"] == pytest.approx(1)
    assert [len(rank["waits"]) for rank in found["pace"]] == [2]
    assert "rank_0_waits" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize(("leaf", "less"), [("slow-data", "slow-busy"), ("slow-grows", "slow-later")])
def test_what_a_leaf_needs_it_needs(leaf: str, less: str) -> None:
    own = Pasted(images())
    with pytest.raises(NameError):
        own.leaf(leaf, after=[each for each in own.needs[leaf] if each != less])


@pytest.mark.parametrize("own", PROGRAMS.values(), ids=PROGRAMS)
def test_clocks_begin_a_short_loader_again(own: Callable[[], Names]) -> None:
    names = own()
    define(names)
    assert len(names["loader"]) <= 3
    assert 0 < names["busy"](names["loader"]) <= 1
    assert 0 <= names["waiting"](names["loader"]) <= 1
    assert names["growth"](names["loader"])["graphs"] == 0
    assert names["types"]()[1] == []


def test_a_loader_of_three_batches_is_begun_again_as_often_as_needed() -> None:
    names = images()
    define(names)
    taken: list[Any] = []
    names["step"] = taken.append
    names["waiting"]([1, 2, 3], steps=9)
    assert taken == [1, 2, 3, 1, 2, 3, 1, 2, 3, 1]
    assert set(names["growth"]([1, 2, 3], taken.append, count=7)) >= {"tensors", "process"}
    assert taken[10:] == [1, 2, 3, 1, 2, 3, 1, 2]


@pytest.mark.parametrize("used_up", [[], iter([1, 2, 3])], ids=["empty", "an iterator"])
def test_what_yields_nothing_more_is_named(used_up: Any) -> None:
    names = images()
    define(names)
    names["step"] = lambda _: None
    with pytest.raises(ValueError, match="pass your loader"):
        names["waiting"](used_up, steps=9)


def test_a_function_that_is_no_operator_is_named_with_its_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    names = images()
    define(names)

    def turn() -> None:
        names["step"]()
        sleep(0.2)

    names["functions"](turn, count=1000)
    found = [re.fullmatch(r" *([0-9.]+) ms  (\S+)\(\)", line) for line in capsys.readouterr().out.splitlines()]
    seconds = {each[2]: float(each[1]) / 1e3 for each in found if each}
    assert seconds["time.sleep"] >= 0.2
    assert seconds.keys() > {"step", "run_backward"}  # Python's own, and a method of PyTorch's


def test_a_running_mean_that_leads_back_grows_in_operators_alone() -> None:
    names = images()
    define(names)
    weight, mean = next(names["model"].parameters()), torch.zeros(())

    def turn(_: Any) -> None:
        nonlocal mean
        mean = 0.9 * mean + weight.sum()

    assert names["growth"](names["loader"], turn, count=7)["graphs"] == 3 * 7  # two products and sums, once each
    mean = mean.detach()


def test_a_loader_is_left_after_so_many_steps() -> None:
    names = images()
    define(names)
    taken: list[Any] = []
    names["step"] = taken.append
    names["waiting"](iter(range(1000)), steps=3)
    assert taken == [0, 1, 2, 3]  # the first starts the workers


def test_parts_of_a_mini_batch_keep_its_form() -> None:
    names = series()
    define(names)
    part = names["first"](1)
    assert part["series"].shape == (2, 4, 3)
    assert part["target"].shape == (2,)
    assert part["name"] == names["batch"]["name"]
    assert names["first"](3)["series"].equal(names["batch"]["series"])


def test_few_examples_are_two_and_four() -> None:
    names = program(nn.Linear(3, 1), torch.randn(40, 3), lambda net, rows: net(rows).square().mean(), 8)
    counts: list[int] = []
    names["step"] = lambda batch: counts.append(len(batch))
    [instruments] = [source for source in shown() if "def first(" in source]
    [clock] = [source for source in shown() if "first(n)" in source]
    exec(compile(f"{instruments}\n{clock}", PAGE.name, "exec"), names)
    assert list(dict.fromkeys(counts)) == [2, 4, 8]  # an eighth of these eight would be one


class Queue:
    """A loader that notes what is drawn, and says how much its workers keep ready."""

    num_workers, prefetch_factor = 3, 4

    def __init__(self, batch: Any) -> None:
        self.batch, self.drawn = batch, 0

    def __iter__(self) -> Iterator[Any]:
        while True:
            self.drawn += 1
            yield self.batch


@pytest.mark.parametrize("clock", ["busy", "waiting"])
def test_what_workers_had_ready_is_drawn_before_the_clock_starts(clock: str) -> None:
    names = images()
    define(names)
    loader, begun = Queue(names["batch"]), []
    step = names["step"]

    def noted(batch: Any) -> Tensor:
        begun.append(loader.drawn)
        found: Tensor = step(batch)
        return found

    names["step"] = noted
    names[clock](loader, 5)
    assert begun == [13, 14, 15, 16, 17, 18]  # one that is not clocked, and five


def test_on_a_gpu_only_kernels_within_the_turns_count() -> None:
    def event(name: str, device: str, start: int, end: int, is_user_annotation: bool = False) -> SimpleNamespace:
        span = SimpleNamespace(start=start, end=end, elapsed_us=lambda: end - start)
        kind = SimpleNamespace(name=device)
        return SimpleNamespace(
            name=name, device_type=kind, time_range=span, is_user_annotation=is_user_annotation
        )  # fmt: skip

    events = [
        event("turns", "CPU", 100, 200),
        event("turns", "CUDA", 100, 200, is_user_annotation=True),
        event("aten::mm", "CPU", 100, 190),
        event("gemm", "CUDA", 50, 60),  # the turn before
        event("gemm", "CUDA", 110, 140),
        event("relu", "CUDA", 130, 150),  # in another stream
        event("ncclDevKernel", "CUDA", 150, 190),
        event("Memcpy HtoD", "CUDA", 190, 200),
    ]
    names = images()
    define(names)
    trace = SimpleNamespace(events=lambda: events)
    names.update(on_gpu=True, wait=lambda: None, profile=lambda: nullcontext(trace))
    assert names["busy"](9 * [names["batch"]]) == pytest.approx(0.4)


def test_padding_is_only_what_the_reader_names() -> None:
    names = images()
    define(names)
    ids = torch.tensor([[5, 7, 0, 0], [3, 0, 0, 0]])
    labels = torch.tensor([[0, 7, -100, -100], [0, -100, -100, -100]])
    batches = [{"ids": ids, "labels": labels, "image": torch.zeros(2, 9, dtype=torch.uint8)}]
    assert names["useful"](batches, lambda given: given["ids"]) == pytest.approx(3 / 8)
    assert names["useful"](batches, lambda given: given["labels"], pad=-100) == pytest.approx(3 / 8)
    assert names["useful"]([ids], pad=3) == pytest.approx(7 / 8)


def test_memory_that_the_data_set_keeps_grows_with_the_loader_alone() -> None:
    class Keeping(list[Tensor]):
        def __init__(self) -> None:
            self.kept: list[Tensor] = []

        def __len__(self) -> int:
            return 80

        def __getitem__(self, number: Any) -> Any:
            self.kept.append(torch.ones(2**18))
            return torch.ones(3)

    names = program(nn.Linear(3, 1), Keeping(), lambda net, rows: net(rows).square().mean(), 8)
    define(names)
    assert names["growth"](names["loader"], count=4)["tensors"] >= 32  # of 8 MiB in each turn
    assert names["growth"](iter(6 * [names["batch"]]), count=4)["tensors"] < 1


def seen(turns: list[float]) -> dict[str, Any]:
    """Returns what `when` says about turns of these lengths."""
    names = images()
    define(names)
    found: dict[str, Any] = names["when"]([0.0, *accumulate(turns)])
    return found


def test_turns_at_the_border_of_epochs_are_found_by_their_distance() -> None:
    epoch = [9.0] + 23 * [1.0]
    found = seen([30.0, *epoch[1:], *epoch, *epoch])
    assert found["first_turn"] == 30
    assert found["late_turns"] == [24, 48]
    assert found["turns_apart"] == 24
    assert (found["turns_in_all"], found["late_in_all"], found["late_in_a_row"]) == (72, 2, 1)
    assert found["worst_later"] == 9
    assert found["lost_share"] == pytest.approx(16 / (30 + 69 + 18), abs=1e-3)


def test_every_second_turn_may_be_late() -> None:
    found = seen(12 * [1.0, 5.0])
    assert found["turns_apart"] == 2
    assert found["last_over_first"] == 1


def test_late_turns_at_no_regular_distance_have_none() -> None:
    turns = 60 * [1.0]
    for late in (5, 11, 30, 43):
        turns[late] = 4.0
    assert seen(turns)["turns_apart"] == 0
    assert len(seen(turns)["late_turns"]) == 4


def test_a_training_that_slows_down_is_no_regular_one() -> None:
    found = seen([1.0 + turn / 10 for turn in range(60)])
    assert found["last_over_first"] > 3
    assert found["turns_apart"] == 0
    assert seen(8 * [1.0])["last_over_first"] == 1


def test_a_slow_first_epoch_is_told_from_a_few_slow_turns() -> None:
    found = seen(20 * [5.0] + 40 * [1.0])
    assert found["late_turns"] == list(range(1, 13))  # as many as are listed
    assert (found["late_in_all"], found["late_in_a_row"]) == (19, 19)  # but for the first turn, which has a line
    assert seen(8 * [1.0])["late_in_a_row"] == 0


class Stream(IterableDataset[Tensor]):
    """A data set that does not know how long it is."""

    def __iter__(self) -> Iterator[Tensor]:
        yield from torch.randn(24, 3)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_a_stream_without_a_length_is_watched_too() -> None:
    own = Pasted(program(nn.Linear(3, 1), Stream(), lambda net, rows: net(rows).square().mean(), 8))
    anew = own.leaf("slow-when")["anew"]
    with pytest.raises(TypeError):
        len(own.before[TOP,]["loader"])
    assert anew["turns_in_all"] == 3 * 2 * 3  # each of two workers yields all of it, in three epochs


def test_a_hook_sees_every_update_and_goes() -> None:
    names = images()
    define(names)
    ticks = names["watched"](partial(names["train"], names["loader"], epochs=2))
    assert len(ticks) == 1 + 2 * len(names["loader"])
    names["step"]()
    assert len(ticks) == 1 + 2 * len(names["loader"])


@pytest.mark.parametrize(
    ("files", "most"),
    [
        ({"cpu.max": "150000 100000"}, 1),  # a core and a half is one core
        ({"cpu.max": "50000 100000"}, 1),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "100000", "cpu/cpu.cfs_period_us": "100000"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_a_quota_is_rounded_down(tmp_path: Path, files: dict[str, str], most: int | None) -> None:
    names = images()
    define(names)
    (tmp_path / "cpu").mkdir()
    for name, words in files.items():
        (tmp_path / name).write_text(words)
    assert names["cores"](f"{tmp_path}/") == (most or names["cores"](f"{tmp_path}/none/"))
