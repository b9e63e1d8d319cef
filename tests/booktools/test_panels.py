"""Panels: what stands side by side is found, with its words, and shown by views of one drawing."""

from __future__ import annotations

import io

import pytest
from matplotlib import pyplot as plt

from booktools.catalogue import Catalogue
from booktools.panels import panels, stacked
from booktools.render import themed_svg


def drawn(rows: int = 1, columns: int = 1, width: float = 7.0, twin: bool = False) -> str:
    with plt.rc_context({"svg.fonttype": "none"}):
        fig, axes = plt.subplots(rows, columns, figsize=(width, 3), squeeze=False, layout="constrained")
        for each in axes.flat:
            each.plot([1, 1000], [0.001, 10_000])
            each.set(xlabel="a name", ylabel="another name")
        if twin:
            axes[0][0].twinx().set_ylabel("a third")
        file = io.StringIO()
        fig.savefig(file, format="svg")
        plt.close(fig)
    return file.getvalue()


def test_each_panel_has_its_words() -> None:
    svg = drawn(columns=2)
    one, two = panels(svg)
    assert one.left == 0
    assert one.right == two.left
    assert two.right == pytest.approx(504)
    assert 230 < one.right < 270


def test_three_panels_are_three() -> None:
    assert len(panels(drawn(columns=3))) == 3


@pytest.mark.parametrize("options", [{}, {"rows": 2}, {"columns": 2, "width": 5}, {"twin": True}])
def test_what_does_not_stand_side_by_side_stays_whole(options: dict) -> None:
    svg = drawn(**options)
    assert panels(svg) == []
    assert stacked(svg, "figure_1", [], 9) == ""


def test_a_page_has_the_drawing_once_and_a_view_of_each_panel() -> None:
    shown = themed_svg(drawn(columns=2), Catalogue(None))
    assert shown.count('id="') == len({part.split('"')[0] for part in shown.split('id="')[1:]})
    name = shown.partition('-figure_1"')[0].rpartition('"')[2]
    assert shown.count(f'<use href="#{name}-figure_1"/>') == 2


def test_a_panel_is_as_wide_as_its_smallest_letters_need() -> None:
    svg = drawn(columns=2)
    views = panels(svg)
    wide = views[0].right - views[0].left
    for smallest in (9.0, 12.0):
        assert f"min-width:{wide * 11.1 / smallest:.0f}px" in stacked(svg, "figure_1", views, smallest)
