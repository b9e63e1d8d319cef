"""The probe's pure parts: sizes, the line and its table, what a comparison says, and what the command refuses."""

from __future__ import annotations

import json
import re

import pytest
import torch
import torch.distributed as dist

from dlperf.measurement import Measurement
from dlperf.multigpu.agreement import Disagreement, check, check_over_store, checksum, disagreements
from dlperf.multigpu.all_reduce_times import Findings, Options, link_bytes, measure, message_sizes
from dlperf.multigpu.probe import COMMAND, VARIABLES, main, parse, parse_size, table
from dlperf.network import GIGABIT, PAYLOAD
from tests.multigpu.probing import printed_line, printed_seconds, too_early

ALPHA, BETA = 7e-3, 3e-9
"""A link that nobody has."""


def made_up(world_size: int, alpha: float = ALPHA, beta: float = BETA) -> Findings:
    """Returns findings that lie on a line."""
    times = {n: Measurement((alpha + beta * link_bytes(n, world_size),)) for n in message_sizes(2**24)}
    barrier, step, local = (Measurement((s,)) for s in (0.0123, 45.6, 34.5))
    return Findings(world_size, "cpu", "gloo", 5, 70_000_000, barrier, times, step, local)


@pytest.mark.parametrize(("world_size", "sent"), [(2, 1000), (4, 1500), (8, 1750), (1, 0)])
def test_each_rank_of_a_ring_sends_twice_all_shares_but_its_own(world_size: int, sent: float) -> None:
    assert link_bytes(1000, world_size) == sent


@pytest.mark.parametrize("world_size", [2, 3, 8])
def test_the_line_is_of_a_link_whatever_the_number_of_ranks(world_size: int) -> None:
    line = made_up(world_size).line
    assert (line.alpha, line.beta) == pytest.approx((ALPHA, BETA))


def test_the_predicted_time_is_of_the_bytes_that_a_rank_sends() -> None:
    assert made_up(4).predict(1e9) == pytest.approx(ALPHA + BETA * 1.5e9)


def test_messages_grow_by_four_up_to_the_largest() -> None:
    assert message_sizes(4096) == [1024, 4096]
    assert message_sizes(2**24) == [2**n for n in range(10, 25, 2)]
    assert message_sizes(2**24 - 1)[-1] == 2**22
    with pytest.raises(ValueError, match="at least 4096 bytes, or no line can be fitted: 4095"):
        message_sizes(4095)


@pytest.mark.parametrize(
    ("text", "size"),
    [("45MB", 45_000_000), ("512 KiB", 2**19), ("1.5GB", 1_500_000_000), ("7", 7), ("3kB", 3000), (" 2B ", 2)],
)
def test_a_size_has_a_unit_of_bytes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "MB", "45Mb", "45 bits", "-1MB", "0", "1e6", "nan"])
def test_no_other_size_is_guessed(text: str) -> None:
    with pytest.raises(ValueError, match=r"a number of bytes with a unit \(B, kB, MB, GB, KiB, MiB, GiB\), got"):
        parse_size(text)


def test_equal_reports_disagree_in_nothing() -> None:
    reports = {rank: {"PyTorch": "9.9", "gradient": "abc"} for rank in range(3)}
    assert disagreements(reports) == []
    check(reports)


def test_a_disagreement_names_rank_value_and_what_rank_0_has() -> None:
    reports = {0: {"PyTorch": "9.9", "device": "cpu"}, 1: {"PyTorch": "9.9", "device": "cpu"}, 2: {"PyTorch": "8.8"}}
    assert disagreements(reports) == [
        "rank 2 has PyTorch '8.8', but rank 0 has '9.9'",
        "rank 2 has device None, but rank 0 has 'cpu'",
    ]
    with pytest.raises(Disagreement, match=r"rank 2 has PyTorch '8\.8', but rank 0 has '9\.9'; rank 2 has device None"):
        check(reports)
    assert disagreements({0: {}, 1: {"more": 1}}) == ["rank 1 has more 1, but rank 0 has None"]


@pytest.mark.parametrize("rank", [0, 1])
def test_ranks_that_count_differently_wait_for_no_third(rank: int) -> None:
    store = dist.HashStore()
    sizes = {0: 3, 1: 2}
    store.set(f"report-{1 - rank}", json.dumps({"WORLD_SIZE": sizes[1 - rank]}))
    with pytest.raises(Disagreement, match="rank 1 has WORLD_SIZE 2, but rank 0 has 3"):
        check_over_store(store, rank, sizes[rank], {"WORLD_SIZE": sizes[rank]})


def test_ranks_that_agree_go_on() -> None:
    store = dist.HashStore()
    store.set("report-1", json.dumps({"device": "cpu"}))
    check_over_store(store, 0, 2, {"device": "cpu"})
    assert json.loads(store.get("report-0")) == {"device": "cpu"}


def test_a_checksum_sees_the_last_bit() -> None:
    x = torch.randn(5, 7)
    same, other = x.clone(), x.clone()
    other[3, 4] = torch.nextafter(other[3, 4], torch.tensor(torch.inf))
    assert checksum([x, x[0]]) == checksum([same, same[0]])
    assert checksum([x, x[0]]) != checksum([other, other[0]])
    assert checksum([x.t()]) != checksum([x])


def test_the_table_says_what_link_and_gradient_cost() -> None:
    rows = table(made_up(3), gradient=90_000_000).splitlines()
    assert rows[0] == f"3 ranks on cpu, gloo, PyTorch {torch.__version__}; medians ± IQR / 2"
    found = dict(re.split("  +", row) for row in rows[1:])
    assert found["barrier"] == "12.3 ms ± 0 s"
    assert found["all-reduce of 1.05 MB"] == "11.2 ms ± 0 s"
    assert found["latency of an all-reduce (alpha)"] == "7.00 ms"
    assert found["bandwidth of a rank's link (1 / beta)"] == "333 MB/s"
    assert found["predicted all-reduce of a gradient of 90.0 MB"] == "367 ms"
    assert found["DDP step, 5 images a rank, gradient of 70.0 MB"] == "45.6 s ± 0 s"
    assert found["the same step without its all-reduce"] == "34.5 s ± 0 s"
    assert "predicted all-reduce of a gradient of 70.0 MB" in table(made_up(3))


def test_times_that_no_line_fits_are_shown_all_the_same() -> None:
    shown = table(made_up(2, alpha=1.0, beta=-1e-9))
    assert "no line fits these times" in shown
    assert "all-reduce of 16.8 MB" in shown
    assert "predicted" not in shown


def test_what_is_printed_can_be_read_again() -> None:
    findings = made_up(3)
    printed = table(findings)
    line, seconds = printed_line(printed), printed_seconds(printed)
    assert line is not None
    assert (line.alpha, line.beta) == pytest.approx((ALPHA, BETA), rel=0.01)
    assert list(seconds) == list(findings.all_reduce)
    assert list(seconds.values()) == pytest.approx([m.median for m in findings.all_reduce.values()], rel=0.01)
    assert printed_line(table(made_up(2, alpha=1.0, beta=-1e-9))) is None


@pytest.mark.parametrize("k", [2, 4])
def test_a_table_that_is_faster_than_the_link_is_seen(k: int) -> None:
    at = lambda share: table(made_up(k, alpha=1e-6, beta=1 / (share * PAYLOAD * GIGABIT)))
    assert too_early(at(1.0), GIGABIT, k) == []
    assert too_early(at(0.1), GIGABIT, k) == []
    assert "line at 16777216 B" in too_early(at(1.1), GIGABIT, k)
    found = too_early(at(2.0), GIGABIT, k)
    assert {"all-reduce of 16777216 B", "line at 16777216 B", "all-reduce of 1048576 B"} <= set(found)


def test_a_line_that_is_faster_than_the_link_is_seen_by_itself() -> None:
    slow = table(made_up(2, alpha=1e-6, beta=1 / (PAYLOAD * GIGABIT)))
    fast = table(made_up(2, alpha=1e-6, beta=1 / (9 * PAYLOAD * GIGABIT)))
    rows = [
        b if "(alpha)" in b or "beta" in b else a for a, b in zip(slow.splitlines(), fast.splitlines(), strict=True)
    ]
    with pytest.raises(AssertionError):  # it goes through none of the times
        too_early("\n".join(rows), GIGABIT)


def test_help_says_how_to_start_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        parse(["--help"])
    assert left.value.code == 0
    assert COMMAND in " ".join(capsys.readouterr().out.split())


def test_options_of_a_command_line() -> None:
    assert parse([]) == Options()
    line = ["--gradient", "45MB", "--largest", "64KiB", "--batch", "3", "--samples", "2"]
    assert parse(line) == Options(batch=3, gradient=45_000_000, largest=65536, samples=2)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (["--gradient", "45Mb"], "a size is a number of bytes with a unit"),
        (["--largest", "1KiB"], "no line can be fitted"),
        (["--batch", "0"], "a positive whole number is needed, got '0'"),
        (["--samples", "two"], "a positive whole number is needed, got 'two'"),
    ],
)
def test_wrong_options_end_the_command(line: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        parse(line)
    assert left.value.code == 2
    assert why in capsys.readouterr().err


def test_without_torchrun_it_says_how_to_start_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert main([]) == 2
    assert f"torchrun sets {', '.join(VARIABLES)}, which are missing" in (said := capsys.readouterr().err)
    assert COMMAND in said


def test_one_rank_has_no_link() -> None:
    with pytest.raises(ValueError, match="two or more ranks, got 1"):
        measure(0, 1, Options())
