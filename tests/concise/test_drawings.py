"""The picture of made-up traces: rows, colours and where the rung before was done."""

from __future__ import annotations

from dlperf.concise import drawings
from dlperf.concise.memory import Memory
from dlperf.concise.observe import Trace
from dlperf.measurement import Measurement


def trace(rank: int) -> Trace:
    """Returns a step with one message, which begins a second later on each device."""
    parts = {"forward": [(rank, rank + 1.0)], "backward": [(rank + 1.0, rank + 2.0)], "update": []}
    return Trace(rank, parts, {"all_reduce": [(rank + 1.5, rank + 3.0)]})


def test_a_row_for_each_device_and_one_for_its_link() -> None:
    axes = drawings.timeline([trace(0), trace(1)], until=2.0, longest=5.0).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["device 0", "its link", "device 1", "its link"]
    assert axes.get_xlim() == (0, 5000)
    assert [list(line.get_xdata()) for line in axes.lines] == [[2000, 2000]]
    legend = {text.get_text() for text in axes.figure.legends[0].get_texts()}
    assert legend == {"forward", "backward", "update", "all_reduce", "the rung before"}


def test_one_device_has_no_link() -> None:
    axes = drawings.timeline([trace(0)]).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["device 0"]


def test_a_step_lasts_from_the_first_beginning_to_the_last_end() -> None:
    assert drawings.length([trace(0), trace(1)]) == 3.0


def test_memory_is_stacked_by_kind_beside_what_was_predicted() -> None:
    found = {"one": Memory(1_000_000, 2_000_000, 3_000_000, 4_000_000), "sharded": Memory(10, 20, 30, 40)}
    axes = drawings.memory(found, {"one": Memory(5_000_000, 0, 0, 0), "sharded": Memory(1, 1, 1, 1)}).axes[0]
    ends = [bar.get_x() + bar.get_width() for bar in axes.patches[:4]]
    assert ends == [1.0, 3.0, 6.0, 10.0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["one", "sharded"]
    assert list(axes.lines[0].get_xdata()) == [5.0, 5.0]


def test_a_row_of_buckets_has_both_predictions_beside_what_was_measured() -> None:
    seconds = {"predicted": 0.038, "own passes": 0.05, "step": 0.057}
    ratios = {"messages": 13.0, "predicted_over_measured": 0.67, "bound": 1.5}
    row = {key: Measurement((value,) * 5, "s" if key in seconds else "1") for key, value in (seconds | ratios).items()}
    table = drawings.buckets({"DDP, 0.25 MiB": row})
    assert table.heads[2:5] == ("predicted", "predicted, own passes", "measured")
    assert list(table.rows) == [("DDP, 0.25 MiB", "13", "38.0 ms", "50.0 ms", "57.0 ms", "0.67", "1.5")]
