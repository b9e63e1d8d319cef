"""What drawings are made of: each thing stands where it was put, and a wrong drawing is found out."""

import matplotlib.pyplot as plt
import pytest

from booktools.show.catalogue import Catalogue
from dlperf import drawing
from dlperf.drawing import Lane
from dlperf.palette import COLORS
from dlperf.records import svg
from tests.conftest import ROOT
from tests.drawn import colors, extent, faults, texts

CHINESE = Catalogue(ROOT / "chapters" / "labels.zh.po")
ENGLISH = Catalogue(None)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def everything():
    """Returns a drawing with one of each thing."""
    fig, axes = drawing.canvas(3)
    lane = Lane(axes, 0.6, 0.9, 1)
    lane.name("host")
    lane.block((0, 1), COLORS[0], "data")
    lane.strong((1, 2), COLORS[1])
    lane.wait((2, 3))
    drawing.clock(axes, 2.5, 0.35, 0.9, "returned")
    drawing.box(axes, 0.2, 1.5, 0.9, 0.4, COLORS[2], "waiting")
    drawing.arrow(axes, (1.2, 1.7), (2, 1.7), "gone")
    drawing.token(axes, 2.3, 1.7, COLORS[3])
    drawing.frame(axes, 2.1, 1.4, 1, 0.6)
    drawing.guide(axes, (2.1, 2), (2.1, 2.5))
    drawing.interval(axes, 2.1, 3.1, 2.5, "time")
    return fig, axes


@pytest.mark.parametrize("labels", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_a_drawing_of_everything_has_no_fault(labels):
    fig, _ = everything()
    assert faults(fig, labels) == []


WRONG = {
    "'host' lies on 'data'": lambda axes: drawing.label(axes, 0.2, 0.72, "data"),
    "'serial' leaves the canvas": lambda axes: drawing.label(axes, 4.6, 2.8, "serial"),
    "'service' leaves the canvas": lambda axes: drawing.label(axes, 2.0, 3.0, "service"),
    "a line runs through 'gone'": lambda axes: drawing.arrow(axes, (1.6, 1.3), (1.6, 1.65)),
    "a line runs through 'parallel'": lambda axes: drawing.box(axes, 0.5, 2.5, 0.3, 0.3, COLORS[0], "parallel"),
    "a line runs through 'device'": lambda axes: drawing.interval(axes, 0.3, 1.2, 2.6) or device(axes),
    "#ff0000 is no colour of the palette": lambda axes: drawing.box(axes, 4, 2, 0.3, 0.3, "red"),
    "'nobody said this' has no translation": lambda axes: drawing.label(axes, 1.5, 2.8, "nobody said this"),
}


def device(axes):
    drawing.label(axes, 0.3, 2.6, "device")


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_drawing_is_found_out(fault):
    fig, axes = everything()
    WRONG[fault](axes)
    assert fault in faults(fig, CHINESE if "translation" in fault else ENGLISH)


def test_a_label_may_be_too_wide_in_one_language_only(tmp_path):
    (tmp_path / "labels.po").write_text('msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'
                                        'msgid "gone"\nmsgstr "早已离开了这里"\n', encoding="utf-8")  # fmt: skip
    fig, axes = drawing.canvas(1)
    drawing.label(axes, 4.3, 0.5, "gone")
    assert faults(fig, ENGLISH) == []
    assert faults(fig, Catalogue(tmp_path / "labels.po")) == ["'gone' leaves the canvas"]


@pytest.mark.parametrize(("align", "edge"), [("left", "x0"), ("right", "x1")])
def test_a_translated_label_keeps_the_end_by_which_it_hangs(align, edge):
    fig, axes = drawing.canvas(1)
    drawing.label(axes, 2, 0.5, "waits for the host", align)
    (text,) = texts(fig)
    narrow, wide = extent(text, lambda _: "等"), extent(text, lambda _: "等" * 20)
    assert narrow.width < text.get_window_extent().width < wide.width
    assert getattr(narrow, edge) == pytest.approx(getattr(wide, edge))


def test_a_unit_is_an_inch_and_y_runs_down():
    fig, axes = drawing.canvas(2, width=3)
    assert axes.transData.transform((1, 0.5)) / fig.dpi == pytest.approx([1, 1.5])


def test_an_svg_is_the_same_each_time_as_wide_as_its_canvas_and_its_text_is_text():
    made = [svg(everything()[0]) for _ in range(2)]
    assert made[0] == made[1]
    assert f'width="{72 * (drawing.WIDTH + 0.2):g}pt"' in made[0]
    assert ">waiting</text>" in made[0]
    assert colors(made[0]) >= {color.lower() for color in COLORS[:4]}


def test_a_phone_shows_a_drawing_without_scrolling():
    """Its column has 358 px, a figure shrinks to 0.76 of its width there, and matplotlib adds a tenth of an inch."""
    assert 0.76 * (drawing.WIDTH + 0.2) * 96 <= 358


def test_a_lane_turns_moments_into_places():
    fig, axes = drawing.canvas(2)
    lane = Lane(axes, 0.5, 1.0, 0.25)
    assert (lane.at(0), lane.at(4), lane.middle, lane.bottom) == (1, 2, 0.62, 0.74)
    lane.block((2, 4), COLORS[0])
    lane.wait((4, 8))
    ends = [patch.get_extents().x1 / fig.dpi for patch in axes.patches]
    assert ends == pytest.approx([2, 3])
