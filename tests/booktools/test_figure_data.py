"""Data of figures: what was drawn comes back, to four digits, and what is uncertain does not."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest
from matplotlib import pyplot as plt

from booktools.figure_axes import number
from booktools.figure_data import Data, read
from booktools.figures import data_table
from dlperf import breakdown, plot
from dlperf.measurement import Measurement


def drawn(draw: Callable[[Any], object], columns: int = 1) -> str:
    fig, axes = plot.figure(columns=columns)
    draw(axes)
    file = io.StringIO()
    fig.savefig(file, format="svg")
    plt.close(fig)
    return file.getvalue()


def lines(axes: Any, legend: bool = True, **options: Any) -> None:
    axes.plot(X, [x**2 / 7 for x in X], label="squares")
    axes.plot(X, [1 / x for x in X], "--", label="inverses")
    axes.set(xlabel="size", ylabel="time (s)", **options)
    if legend:
        axes.legend()


X = (1, 3, 10, 33, 100, 345)


@pytest.mark.parametrize("scales", [("linear", "linear"), ("log", "linear"), ("log", "log"), ("linear", "log")])
def test_lines_come_back_on_every_scale(scales: tuple[str, str]) -> None:
    (panel,) = read(drawn(lambda axes: lines(axes, xscale=scales[0], yscale=scales[1])))
    assert panel.title == "time (s)"
    assert panel.heads == ("size", "squares", "inverses")
    assert [row[0] for row in panel.rows] == [number(x) for x in X]
    resolved = 3 if scales[1] == "linear" else 9  # decimals, on an axis that reaches to 17 000
    assert [row[1] for row in panel.rows] == [number(round(x**2 / 7, resolved)) for x in X]
    assert [row[2] for row in panel.rows] == [number(round(1 / x, resolved)) for x in X]


def test_bars_come_back_and_stacked_ones_by_their_lengths() -> None:
    shares = dict.fromkeys(breakdown.KINDS, 0.0) | {"products": 0.625, "host": 0.25, "copies": 0.125}
    (panel,) = read(drawn(lambda axes: breakdown.draw(axes, {"before": shares, "after": {**shares, "host": 0.5}})))
    assert panel.heads == ("", "products", "copies", "host")
    assert panel.rows == (("before", "62.5", "12.5", "25"), ("after", "62.5", "12.5", "50"))


def test_upright_bars_come_back_with_their_sign() -> None:
    (panel,) = read(drawn(lambda axes: axes.bar(["one", "two"], [3.5, -1.25]) and axes.set_ylabel("gain (%)")))
    assert panel == Data("", ("", "gain (%)"), (("one", "3.5"), ("two", "-1.25")))


def test_spreads_stand_beside_their_values() -> None:
    measured = [Measurement((1.0, 2.0, 3.0, 4.0, 5.0), "s"), Measurement((2.0, 4.0, 6.0, 8.0, 10.0), "s")]

    def draw(axes: Any) -> None:
        axes.plot([1, 2], [3.5, 6], label="predicted")  # of the same colour as the marks, and without a spread
        plot.points(axes, [1, 2], measured, label="measured", color=plot.COLORS[0])
        axes.legend()

    (panel,) = read(drawn(draw))
    assert panel.rows == (("1", "3.5", "3 (2–4)"), ("2", "6", "6 (4–8)"))


def test_marks_beside_a_tick_belong_to_it() -> None:
    def draw(axes: Any) -> None:
        for shift, name in ((-0.05, "left"), (0.05, "right")):
            axes.plot([1 + shift, 2 + shift, 3 + shift], [1, 2, 3], "o", label=name)
        axes.set(xticks=(1, 2, 3))
        axes.legend()

    (panel,) = read(drawn(draw))
    assert panel.rows == (("1", "1", "1"), ("2", "2", "2"), ("3", "3", "3"))


def test_each_panel_has_a_table_and_one_legend_names_both() -> None:
    def draw(axes: Any) -> None:
        lines(axes[0])
        lines(axes[1], legend=False, title="second")

    first, second = read(drawn(draw, columns=2))
    assert first.heads == second.heads
    assert second.title == "second"


UNCERTAIN: dict[str, Callable[[Any], object]] = {
    "no names": lambda axes: lines(axes, legend=False),
    "two ticks": lambda axes: (lines(axes), axes.set(xticks=(1, 100))),
    "words for some": lambda axes: (lines(axes), axes.set(xticks=(1, 100, 200), xticklabels=("1", "many", "200"))),
    "labels that lie": lambda axes: (lines(axes), axes.set(xticks=(0, 100, 200), xticklabels=("0", "1", "7"))),
    "an offset": lambda axes: axes.plot([1, 2, 3], [1e9, 2e9, 3e9]),
    "two values in one place": lambda axes: axes.plot([1, 2, 2, 3], [1, 2, 3, 4]),
    "too many": lambda axes: axes.plot(range(100), range(100)),
    "a drawing": lambda axes: (lines(axes), axes.set_axis_off()),
    "a histogram": lambda axes: axes.hist([1, 2, 2, 3], bins=7),
}


@pytest.mark.parametrize("name", UNCERTAIN)
def test_what_is_uncertain_has_no_table(name: str) -> None:
    assert read(drawn(UNCERTAIN[name])) == []
    assert data_table(drawn(UNCERTAIN[name]), str) == ""


@pytest.mark.parametrize(
    ("value", "said"), [(0, "0"), (12345, "12340"), (0.5, "0.5"), (2e6, "2 × 10⁶"), (-1.2346e-6, "-1.235 × 10⁻⁶")]
)
def test_numbers_have_four_digits(value: float, said: str) -> None:
    assert number(value) == said


def test_words_are_translated_and_numbers_are_not() -> None:
    asked = []

    def say(text: str) -> str:
        asked.append(text)
        return text.upper()

    table = data_table(drawn(lines), say)
    assert '<th scope="col">SQUARES</th>' in table
    assert set(asked) == {"Data as a table", "time (s)", "size", "squares", "inverses"}
