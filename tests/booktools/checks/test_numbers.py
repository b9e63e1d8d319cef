"""No naked number: what is caught, wherever it hides, and what honest text may say."""

from __future__ import annotations

from pathlib import Path

import pytest

from booktools.checks.numbers import naked_numbers
from booktools.source.blocks import Block, blocks


def found(text: str) -> list[str]:
    return naked_numbers(Block("paragraph", 1, text))


def found_on_page(text: str, folder: Path) -> list[str]:
    """Returns what is found on a page with this source: what its blocks are is part of the question."""
    path = folder / "page.md"
    path.write_text(text, encoding="utf-8")
    return [number for block in blocks(path.read_text(encoding="utf-8")) for number in naked_numbers(block)]


@pytest.mark.parametrize(
    "text",
    [
        "It took 3.5 ms.",
        "It took 3.5 seconds on this machine.",
        "about 40% of the step",
        "$12\\,\\mathrm{GB/s}$ at best",
        "a bandwidth of 1,200 GB/s",
        "with 80 gigabytes of memory",
        "It reached 1.5 teraflops.",
        "The model makes 1234 tokens/s.",
        "It draws 300 W.",
        "The queue hands out 2,000 small requests per second.",
        "It reads 300 images a second.",
    ],
)
def test_a_number_with_a_unit_is_caught(text: str) -> None:
    assert found(text)


@pytest.mark.parametrize(
    "text",
    [
        "It is 2.3× faster.",
        "It is 3.7x faster.",
        "4x as many, at 2X the price",
        "a factor of 3.7",
        "by a factor of 12 or so",
        "by a factor of two",
        "a speedup of 4 on eight cores",
        "The ratio is about 8.",
        "It grows by less than 1.3 of the synchronous memory.",
        "$3.7$ of the time",
        "The speedup is $4.2\\times$.",
    ],
)
def test_a_ratio_is_caught(text: str) -> None:
    assert found(text)


@pytest.mark.parametrize(
    "text",
    [
        "It waits fifteen seconds.",
        "twelve times as long",
        "ten times slower",
        "thirty percent of the step",
        "thirty-five per cent",
        "twenty-five milliseconds",
        "a hundred and ten microseconds",
        "half a second later",
        "eighty gigabytes",
        "three-fold",
        "twice as fast",
        "keeps nine tenths of the speed",
        "two thousand requests per second",
    ],
)
def test_a_number_in_words_is_caught(text: str) -> None:
    assert found(text)


@pytest.mark.parametrize(
    "text",
    [
        "用时3.5毫秒。",
        "用了十五秒。",
        "快了两倍。",
        "是原来的三倍。",
        "快了3.7倍。",
        "大约百分之四十",
        "百分之三十的时间",
        "占三成",
        "保住十分之九的速度",
        "加速比是3.7。",
        "加速比达到了4。",
        "比值约为八。",
        "内存之比小于1.3。",
        "快到3.7左右",
        "每秒2000次",
        "每秒能做两千次",
        "吞吐率为300张/秒",
        "等了两个小时",
        "80吉字节的显存",
        "每半秒看一眼",
    ],
)
def test_a_number_in_chinese_is_caught(text: str) -> None:
    assert found(text)


@pytest.mark.parametrize("micro", ["\u00b5", "\u03bc"], ids=["micro sign", "Greek mu"])
@pytest.mark.parametrize("text", ["It took 12 {}s.", "`12 {}s`", "$12\\,\\mathrm{{{}s}}$"])
def test_both_signs_for_micro_are_read(micro: str, text: str) -> None:
    assert found(text.format(micro))


@pytest.mark.parametrize(
    "text",
    [
        "It took **3.5** ms.",
        "It took _3.5_ ms.",
        "It took 3.5&nbsp;ms.",
        "It took <b>3.5</b> ms.",
        "`3.7x`",
        "`12 ms` later",
        "`Benchmark` prints `0.1234 sec`.",
        "`~ 40%` of the step",
        "It took {math}`12\\,\\mathrm{ms}`.",
        "as long as {ref}`12 ms <some-label>`",
        "It took [12 ms](https://example.org/).",
    ],
)
def test_a_number_does_not_hide_in_markup(text: str) -> None:
    assert found(text)


@pytest.mark.parametrize(
    "text",
    [
        '<p>It took <span class="big">3.5</span> ms.</p>\n',
        "<table><tr><td>3.5</td><td>ms</td></tr></table>\n",
        '<img src="a.svg" alt="It is 3.7x faster.">\n',
        "```{raw} html\n<p>thirty percent</p>\n```\n",
        "```text\ntook 12 ms\n```\n",
        "```{code-block} text\ntook 12 ms\n```\n",
        "$$t = 12\\,\\mathrm{ms}$$\n",
        "```{math}\nt = 12\\,\\text{ms}\n```\n",
        "- a list\n\n  that took 12 ms\n",
        "| a | b |\n|---|---|\n| x | 12 ms |\n",
        "```{figure} a.svg\n:alt: It took 12 ms.\n\nCaption\n```\n",
    ],
)
def test_a_number_does_not_hide_in_what_is_no_prose(text: str, tmp_path: Path) -> None:
    assert found_on_page(text, tmp_path)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("It took 0.69 ms {cite}`someone`.", []),
        ("It took 0.69 ms. {cite}`someone`", []),
        ("It took 0.69 ms, at 3 GB/s, in ten seconds; twice as long there {cite:p}`someone`.", []),
        ("用时0.69 ms{cite}`someone`。", []),
        ("They took 0.69 ms {cite}`someone`. Here it takes 3 ms.", ["3 ms"]),
        ("Here it takes 3 ms. There it took 0.69 ms {cite}`someone`.", ["3 ms"]),
        ("It took 0.69 ms. {cite}`someone` Here it takes 3 ms.", ["3 ms"]),
        ("那里用时0.69 ms{cite}`someone`。这里用时3 ms。", ["3 ms"]),
        ("这里用时3 ms。那里用时0.69 ms{cite}`someone`。", ["3 ms"]),
    ],
)
def test_a_citation_vouches_for_its_sentence(text: str, numbers: list[str]) -> None:
    assert found(text) == numbers


@pytest.mark.parametrize(
    "text",
    [
        "It took {glue:text}`a.b`, a ratio of {glue:text}`a.c:.1f`.",
        "{glue:text}`a.b:.1f` times as long, {glue:text}`a.c` billion per second",
        "We set the level to {given}`95 %`, and wait {given}`fifteen seconds`.",
        "Two threads, 200 samples, a 512 × 512 matrix, float32.",
        "It runs on two devices, with three queues and one reader per queue.",
        "We ask a second time, for a second thread, and once a day.",
        "In 1967, Amdahl wrote of 32 bits in chapter 3.",
        "the formula $T = n t$ for $n = 8$",
        "the ratio of two medians, whose ratio is 1 where they are equal",
        "one FLOP for eight bytes",
        "a tenth of the step",
        "See {ref}`label-12` and {numref}`fig-3`, {eq}`eq-2`, {doc}`page`.",
        "Python 3.11, 3.12 or 3.13, torch>=2.11, PCIe 4.0 and CUDA 12",
        "Version 1.2.2 of it, version 7.0",
        "[a page](https://example.org/12ms/3.7x)",
    ],
)
def test_honest_text_passes(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "共200个样本，512 × 512的矩阵。",
        "两台设备，三个队列，每台设备一个队列。",
        "两个中位数的比值是两个数之商。",
        "每秒的浮点运算次数，一秒一次",
        "十分之一的时间",
        "有三成立，一成不变",
        "1.2.2版、从6.0版起，Python 3.11和3.12",
        "比值大于1，倍数接近一",
        "一块硬盘每分钟转{given}`10,000`圈",
    ],
)
def test_honest_chinese_passes(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    "code",
    [
        "torch.randn(512, 512)",
        "--repeats 30",
        "x * 0.02",
        "x * 2 % 3",
        "time.sleep(0.5)",
        "sleep(0.5 if s else 1)",
        "CUDA_LAUNCH_BLOCKING=1",
        "fio --size=4MiB --runtime=5s",
        "0.999",
        "x[:3]",
        "2x3",
    ],
)
def test_code_passes_as_code(code: str) -> None:
    assert found(f"`{code}`") == []
