"""What the page shows of the probe: the lines that the command prints, with the numbers of one machine."""

from __future__ import annotations

import re

import pytest

from dlperf.measurement import Measurement
from dlperf.models.resnet import ResNet18
from dlperf.multigpu.all_reduce_times import Findings, Options, link_bytes, message_sizes
from dlperf.multigpu.probe import parse, table
from tests.conftest import ROOT

SHOWN = ROOT / "chapters" / "multigpu-probe.txt"
VALUE = re.compile(r"  +\d[\d.]* [µm]?(?:s|[kMG]?B/s)(?: ± \d[\d.]* [µmn]?s)?$")
"""The last column: a quantity that another machine has otherwise."""
VERSION = re.compile(r"(?<=PyTorch )[^;]+")


def without_numbers(line: str) -> str:
    """Returns a line without its value and the version of PyTorch; sizes stay, since all machines send the same."""
    return VERSION.sub("", VALUE.sub("", line))


def options() -> Options:
    """Returns what the command line that is shown asks for."""
    command = SHOWN.read_text(encoding="utf-8").splitlines()[0].partition("-m dlperf.multigpu.probe ")[2]
    return parse(command.split())


def printed() -> list[str]:
    """Returns what the command prints, with times that no machine takes."""
    asked = options()
    times = {n: Measurement((7e-3 + 3e-9 * link_bytes(n, 2),)) for n in message_sizes(asked.largest)}
    barrier, step, local = (Measurement((s,)) for s in (0.0123, 45.6, 34.5))
    gradient = sum(p.nbytes for p in ResNet18().parameters())
    return table(Findings(2, "cpu", "gloo", 16, gradient, barrier, times, step, local), asked.gradient).splitlines()


def test_the_output_that_the_page_shows_is_what_the_command_prints() -> None:
    shown = SHOWN.read_text(encoding="utf-8").splitlines()[1:]
    assert [without_numbers(line) for line in shown] == [without_numbers(line) for line in printed()]
    assert all(VALUE.search(line) for line in shown[1:])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_shows_it_below_the_command_that_it_begins_with(language: str) -> None:
    text = (ROOT / "chapters" / language / "multigpu.md").read_text(encoding="utf-8")
    command = SHOWN.read_text(encoding="utf-8").splitlines()[0].removeprefix("$ ")
    assert 0 < text.find(f"\n{command}\n") < text.find("{literalinclude} ../multigpu-probe.txt")


@pytest.mark.parametrize(
    ("line", "other"),
    [
        ("barrier        1.2 ms", "barriers       1.2 ms"),
        ("all-reduce of 1.02 kB  1.7 ms", "all-reduce of 4.10 kB  1.7 ms"),
    ],
)
def test_a_label_that_differs_is_seen(line: str, other: str) -> None:
    assert without_numbers(line) != without_numbers(other)
    assert without_numbers(line) == without_numbers(line.replace("1.2 ms", "602 µs").replace("1.7 ms", "12 µs"))
