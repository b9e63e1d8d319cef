"""What a built page shows of measurements that spread, in both languages, in prose and in tables."""

from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from booktools.source.book import Book
from tests.build.conftest import Shared
from tests.conftest import build, copy_tiny_book, edit_both

CELL = """
from dlperf.measurement import Measurement
from dlperf.ratio import over

narrow = Measurement([1.0, 1.01, 1.02, 1.03, 1.04], "s")
made = {
    "narrow": narrow,
    "spread": Measurement([0.8, 0.92, 1.0, 1.08, 1.2], "1"),
    "wide": Measurement([0.7, 0.8, 1.0, 1.2, 1.3], "s"),
    "two": Measurement([1.0, 1.01, 1.02, 1.03, 1.04, 1.5, 1.51, 1.52, 1.53, 1.54], "s"),
    "few": Measurement([1.0, 1.5, 3.0], "s"),
    "loss": Measurement([0.8, 0.9, 0.9, 0.9, 1.1], "1"),
}
for name, m in made.items():
    record(f"tiny.{name}", m)
record("tiny.number", 0.4254)
record("tiny.stands", over(narrow, narrow))
record("tiny.wide-ratio", over(narrow, made["two"]))
record("tiny.reasoned", 2 * over(narrow, made["two"], because="it is made up"))
"""
ROLES = (
    "narrow", "spread", "spread:.1f", "spread.percent", "wide", "wide.iqr", "two", "few",
    "number:.2f", "stands:.2f", "wide-ratio", "wide-ratio.percent", "reasoned:.1f",
)  # fmt: skip
SPEEDS = ("spread", "loss", "stands")
KEYS = ("narrow", "wide", "two", "few", "stands", "wide-ratio")


@pytest.fixture(scope="session")
def built(shared: Shared) -> Book:
    """The tiny book with made measurements, built."""

    def make(folder: Path) -> None:
        book = copy_tiny_book(folder / "book")
        shown = "".join(f"- {{glue:text}}`tiny.{role}`\n" for role in ROLES)
        table = "".join(f"| {key} | {{here}}`tiny.{key}` |\n" for key in KEYS)
        edit_both(book, "tiny", 'record("tiny.refused", "–")\n', f'record("tiny.refused", "–")\n{CELL}')
        shown += "".join(f"- {{glue:text}}`tiny.{key}:.2f`{{speed}}`tiny.{key}`.\n" for key in SPEEDS)
        machines = "```{machines} tiny.two tiny.few tiny.wide-ratio\n```\n"
        more = f"{shown}\n| a | b |\n|:--|:--|\n{table}\n{machines}\n(tiny-exercises)="
        edit_both(book, "tiny", "(tiny-exercises)=", more)
        done = build(book)
        assert done.returncode == 0, done.stdout

    return Book(shared("spread", make) / "book")


def soup(book: Book, name: str) -> BeautifulSoup:
    return BeautifulSoup((book.build / "html" / name).read_text(encoding="utf-8"), "html.parser")


ENGLISH = [
    "1.02 s", "1.00 ± 0.08", "1.0 ± 0.1", "100 ± 8 %", "1.0 ± 0.2 s (wide spread)", "400 ms",
    "1.02 or 1.52 s (two modes)", "1.0–3.0 s (only 3 samples)",
    "0.43", "1.00", "0.639–1.01 (two modes)", "63.9–101 % (two modes)", "1.6",
    "1.00 ± 0.08 (no clear difference).", "0.90 (slower).", "1.00.",
]  # fmt: skip
CHINESE = [
    "1.02 s", "1.00 ± 0.08", "1.0 ± 0.1", "100 ± 8%", "1.0 ± 0.2 s（离散过大）", "400 ms",
    "1.02或1.52 s（双峰）", "1.0–3.0 s（仅3个样本）",
    "0.43", "1.00", "0.639–1.01（双峰）", "63.9–101%（双峰）", "1.6",
    "1.00 ± 0.08（差别不明显）.", "0.90（更慢）.", "1.00.",
]  # fmt: skip


@pytest.mark.parametrize(("name", "expected"), [("tiny.html", ENGLISH), ("zh/tiny.html", CHINESE)])
def test_prose(built: Book, name: str, expected: list[str]) -> None:
    items = [item.get_text() for item in soup(built, name).select("article ul > li")]
    assert items[-len(expected) :] == expected


@pytest.mark.parametrize(("name", "word"), [("tiny.html", "median"), ("zh/tiny.html", "中位数")])
def test_what_stands_over_a_value_tells_the_rest(built: Book, name: str, word: str) -> None:
    values = {value.get_text(): value["title"] for value in soup(built, name).select(".dl-quantity")}
    assert values["1.02 s"].startswith(f"{word} 1.02 s · ")
    assert values["0.639–1.01"] == "1.02 s (IQR 20 ms, n=5) / 1.3 s (IQR 495 ms, n=10)"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "tiny.html",
            ["1.02 s ± 10 ms", "1.0 s ± 200 ms wide spread", "1.02 or 1.52 s two modes", "1.0–3.0 s only 3 samples",
             "1", "0.639–1.01 two modes"],
        ),
        (
            "zh/tiny.html",
            ["1.02 s ± 10 ms", "1.0 s ± 200 ms 离散过大", "1.02或1.52 s 双峰", "1.0–3.0 s 仅3个样本",
             "1", "0.639–1.01 双峰"],
        ),
    ],
)  # fmt: skip
def test_tables(built: Book, name: str, expected: list[str]) -> None:
    cells = [[cell.get_text() for cell in row.find_all("td")] for row in soup(built, name).select("tr:has(td + td)")]
    rows = {head.rpartition(" ")[2]: shown for head, shown, *_ in cells}
    assert [rows[key] for key in KEYS] == expected
    assert [rows[f"tiny.{key}"] for key in ("two", "few", "wide-ratio")] == [expected[2], expected[3], expected[5]]
