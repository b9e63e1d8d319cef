"""The chapter's drawings: readable in every language, made of the book's colours, and true to what they show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booktools.show.catalogue import Catalogue
from dlperf.measuring import drawings
from dlperf.records import svg
from tests.drawn import faults, texts

EVERY = {name: getattr(drawings, name) for name in ("regimes", "step", "early_clock", "amdahl", "queue")}
LENGTHS = st.lists(st.tuples(st.floats(0, 5), st.floats(0.01, 5)), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("regimes", {"costs": {"overhead-bound": (1, 0.2, 9), "memory-bound": (1, 9, 1)}}),
        ("early_clock", {"pieces": 5, "computing": 4}),
        ("amdahl", {"serial": 0.5}),
    ],
)
def test_a_drawing_follows_its_arguments(name, arguments):
    other = EVERY[name](**arguments)
    assert svg(other) != svg(EVERY[name]())
    assert faults(other, Catalogue(None)) == []


def test_too_short_a_phase_is_found_out():
    short = {**drawings.PHASES, "backward": ((0.1, 0.4),) * 2}
    assert "a line runs through 'backward'" in faults(drawings.step(phases=short), Catalogue(None))


@given(LENGTHS)
def test_a_device_runs_in_order_one_at_a_time_and_never_before_it_was_asked(calls):
    asked, lengths = sorted(moment for moment, _ in calls), [length for _, length in calls]
    ran = drawings.runs(asked, lengths)
    assert all(start >= moment for moment, (start, _) in zip(asked, ran, strict=True))
    assert [end - start for start, end in ran] == pytest.approx(lengths)
    for (_, end), (start, _), moment in zip(ran, ran[1:], asked[1:], strict=False):
        assert start == max(end, moment)  # nor does it wait without need
    idle = sum(end - start for start, end in drawings.idle(ran))
    assert idle + sum(lengths) == pytest.approx(ran[-1][1])


@pytest.mark.parametrize(("name", "costs"), drawings.REGIMES.items())
def test_a_regime_has_the_name_of_its_longest_cost(name, costs):
    assert costs.index(max(costs)) == ["overhead-bound", "memory-bound", "compute-bound"].index(name)


def test_the_device_waits_for_data_and_then_for_the_host_and_the_host_for_the_device():
    said = [text.get_text() for text in texts(drawings.step())]
    assert [word for word in said if word.startswith("waits")] == [
        "waits for the device",
        "waits for data",
        "waits for the host",
    ]
