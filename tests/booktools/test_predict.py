"""{predict}: what may be guessed, what of it is right by whichever record, what is hidden, and what is refused."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import directives
from hypothesis import given
from hypothesis import strategies as st
from myst_parser.parsers.docutils_ import Parser

from booktools import edition, guesses, references
from booktools.book import Book
from booktools.edition import Edition, labels_of
from booktools.executions import Execution
from booktools.guesses import Question, answer, asked_on, position, question
from booktools.page import every_page, page_at
from booktools.plain import Markdown
from booktools.predict import EndDirective, HideAnswers, PredictDirective
from booktools.predict_html import Hidden, Predict, marks
from booktools.records import Machine, recorded_machines
from dlperf.measurement import Measurement
from dlperf.ratio import over
from tests.booktools.test_claims import executed
from tests.conftest import ROOT, edit

BOOK = Book(ROOT)
CHOICES = {"choices": "less | as much | more", "bounds": "0.8 1.2"}
NARROW = (1.0, 1.01, 1.02, 1.03, 1.04)
TWO = (1.0, 1.01, 1.02, 1.03, 1.04, 3.0, 3.01, 3.02, 3.03, 3.04)


def machine(name: str, **records: Any) -> Machine:
    """Returns a machine that recorded these values on a page p."""
    named = {f"p.{key}": value for key, value in records.items()}
    return Machine(name, {"p": Execution.of(executed(named, {"cpu": f"Chip of {name}", "cores": 2, "gpus": []}), ())})


# --- what a source says ---


def test_choices_have_ranges_that_leave_nothing_out() -> None:
    found = question("p.key", CHOICES)
    assert found.choices == ("less", "as much", "more")
    assert found.ranges == [(-float("inf"), 0.8), (0.8, 1.2), (1.2, float("inf"))]


def test_a_scale_is_of_the_record_s_unit_and_of_a_percentage_it_may_be_left_out() -> None:
    assert question("p.key", {"scale": "1e-6 1"}).scale == (1e-6, 1)
    assert question("p.key.percent", {}) == Question("p.key", percent=True, scale=(0, 100))


@pytest.mark.parametrize(
    ("name", "options", "why"),
    [
        ("p.key", {"choices": "less", "bounds": ""}, "fewer than two choices: 'less'"),
        ("p.key", {"choices": "less | ", "bounds": "1"}, "fewer than two choices"),
        (
            "p.key",
            {"choices": "less | as much | more", "bounds": "1"},
            "3 choices are parted by 2 bounds, and here are 1",
        ),
        ("p.key", {"choices": "less | more"}, "2 choices are parted by 1 bounds, and here are 0"),
        (
            "p.key",
            {"choices": "less | as much | more", "bounds": "1.2 0.8"},
            "the ranges overlap: .* 1.2 stands before 0.8",
        ),
        ("p.key", {"choices": "less | as much | more", "bounds": "1 1"}, "the ranges overlap"),
        ("p.key", {"choices": "less | more", "bounds": "one"}, "`:bounds:` are numbers .* not 'one'"),
        ("p.key", {"bounds": "1"}, "`:bounds:` part choices, and there are none"),
        ("p.key", {"scale": "100 1"}, "a scale goes from a number above zero to a larger one, .* not '100 1'"),
        ("p.key", {"scale": "0 1"}, "from a number above zero"),
        ("p.key", {"scale": "1 ten"}, "`:scale:` are numbers"),
        ("p.key.percent", {"scale": "50"}, "a scale goes from 0"),
        ("p.key", {"scale": "1 2", **CHOICES}, "`:choices:` or `:scale:`, but not both"),
        ("p.key", {}, "nothing to guess"),
    ],
)
def test_what_is_wrong_is_named(name: str, options: Mapping[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        question(name, options)


def put(book: Book, text: str) -> Path:
    """Lets the tiny book's page hold this before its section; returns the page's file."""
    path = book.page("en", "tiny")
    edit(path, "(tiny-measure)=", f"{text}\n\n(tiny-measure)=")
    return path


GOOD = "```{predict} tiny.size\n:scale: 1 9000\n\nHow large?\n```\n"


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        (GOOD.replace("1 9000", "9000 1"), 0, "a scale goes from"),
        (GOOD.replace("How large?\n", ""), 0, "has no words"),
        (GOOD + GOOD, 5, "asked twice on this page"),
    ],
)
def test_a_wrong_question_is_refused_with_its_line(tiny: Book, text: str, line: int, why: str) -> None:
    path = put(tiny, text)
    start = path.read_text(encoding="utf-8").splitlines().index("```{predict} tiny.size") + 1
    (problem,) = guesses.problems(tiny)
    assert problem.startswith(f"chapters/en/tiny.md:{start + line}: {{predict}} tiny.size: ")
    assert why in problem


def test_a_good_one_is_not(tiny: Book) -> None:
    put(tiny, GOOD)
    assert guesses.problems(tiny) == []
    assert references.problems(tiny) == []


@pytest.mark.parametrize("name", ["tiny.nothing", "tiny.nothing.percent"])
def test_an_unknown_record_is_refused(tiny: Book, name: str) -> None:
    path = put(tiny, GOOD.replace("tiny.size", name))
    line = path.read_text(encoding="utf-8").splitlines().index(f"```{{predict}} {name}") + 1
    (problem,) = references.problems(tiny)
    assert problem.startswith(f"chapters/en/tiny.md:{line}: {{predict}} {name}: no machine has a record")


# --- what is right ---


@pytest.mark.parametrize(
    ("value", "right"),
    [
        (0.5, [True, False, False]),
        (1.0, [False, True, False]),
        (7, [False, False, True]),
        (0, [True, False, False]),
        (Measurement(NARROW), [False, True, False]),
        (Measurement((0.7, 0.79, 0.85, 0.9, 0.95)), [True, True, False]),  # its middle half lies in two ranges
        (Measurement(TWO), [False, True, True]),
    ],
)
def test_the_record_decides_which_choice_is_right(value: Any, right: list[bool]) -> None:
    asked = question("p.key", CHOICES)
    found = answer(asked, machine("m", key=value))
    assert found is not None
    assert found.right(asked) == right


def test_a_guess_is_right_within_the_spread_and_a_twentieth() -> None:
    scale = question("p.key", {"scale": "1 10"})
    spread = answer(scale, machine("m", key=Measurement((1.0, 1.5, 2.0, 2.5, 3.0))))
    exact = answer(scale, machine("m", key=2.0))
    assert spread is not None
    assert exact is not None
    assert spread.near(scale) == (1.5, 2.5)
    assert (exact.low, exact.high) == (2.0, 2.0)
    assert exact.near(scale) == pytest.approx((2 / 1.05, 2.1))
    percentage = question("p.key.percent", {})
    share = answer(percentage, machine("m", key=0.4))
    assert share is not None
    assert (share.centres, share.near(percentage)) == ((40.0,), (39.0, 41.0))


def test_two_modes_are_two_answers_and_few_samples_a_range() -> None:
    scale = question("p.key", {"scale": "1 10"})
    both = answer(scale, machine("m", key=Measurement(TWO)))
    few = answer(scale, machine("m", key=Measurement((1.0, 5.0))))
    assert both is not None
    assert few is not None
    assert both.centres == pytest.approx((1.02, 3.02))
    between = question("p.key", {"choices": "one | two | three", "bounds": "1.5 2.5"})
    assert both.right(between) == [True, False, True]
    assert (few.low, few.high) == (1.0, 5.0)


def test_what_was_refused_is_no_answer() -> None:
    asked = question("p.key", CHOICES)
    wide = Measurement((0.5, 0.8, 1.0, 1.2, 1.5))
    assert answer(asked, machine("m", other=1.0)) is None
    assert answer(asked, machine("m", key="–")) is None
    assert answer(asked, machine("m", key=over(wide, Measurement(NARROW)))) is None
    assert answer(asked, machine("m", key=over(wide, Measurement(NARROW), because="it stands"))) is not None


@given(st.floats(1e-9, 1e9), st.floats(1.5, 1e6), st.booleans())
def test_a_scale_stops_at_ascending_numbers_within_its_ends(low: float, factor: float, whole: bool) -> None:
    stops = Question("p.key", scale=(low, low * factor)).stops(whole)
    assert stops == sorted(set(stops))
    assert all(low <= stop <= low * factor for stop in stops)
    assert all(high / low < 1.3 for low, high in itertools.pairwise(stops) if not whole)


@given(st.floats(0.5, 200), st.floats(0.5, 200))
def test_more_lies_further_to_the_right(one: float, other: float) -> None:
    stops = Question("p.key", scale=(1, 100)).stops(False)
    low, high = sorted((one, other))
    assert 0 <= position(low, stops) <= position(high, stops) <= 1
    assert [position(stop, stops) * (len(stops) - 1) for stop in stops] == pytest.approx(range(len(stops)))


def test_few_numbers_stand_beside_a_scale() -> None:
    assert marks(Question("p.key", scale=(1, 10)).stops(False)) == [1, 2, 5, 10]
    assert marks(Question("p.key", scale=(0.5, 1000)).stops(False)) == [0.5, 1, 10, 100, 1000]
    assert marks(Question("p.key", percent=True).stops(False)) == [0, 25, 50, 75, 100]


# --- what a page holds ---

Read = Callable[..., nodes.document]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Read:
    """Reads a page in an edition of the first of some machines, as MyST reads it."""
    for name, directive in {"predict": PredictDirective, "predict-end": EndDirective}.items():
        monkeypatch.setitem(directives._directives, name, directive)

    def read(text: str, *machines: Machine, language: int = 0) -> nodes.document:
        here = BOOK.languages[language]
        shown = Edition(BOOK, here, machines[0].name, list(machines), {}, labels_of(BOOK, here))
        monkeypatch.setattr(edition, "_current", [shown])
        document = publish_doctree(text, parser=Parser(), settings_overrides={"report_level": 5})
        HideAnswers(document).apply()
        return document

    return read


TEXT = """# A

Before.

```{predict} p.key
:choices: less | as much | more
:bounds: 0.8 1.2

How much *is* it?
```

Behind.

```{predict-end}
```

After.
"""


def right(document: nodes.document) -> list[bool]:
    """Returns, of a page's only question, which choices are right."""
    (box,) = document.findall(Predict)
    return [bool(choice["right"]) for choice in box.findall() if isinstance(choice, nodes.Element) and "ends" in choice]


def test_another_record_makes_another_choice_right(read: Read) -> None:
    """Of one and the same source: the answer is nowhere written."""
    assert right(read(TEXT, machine("m", key=0.5))) == [True, False, False]
    assert right(read(TEXT, machine("m", key=2.0))) == [False, False, True]


def test_words_choices_ranges_and_what_was_measured_are_there(read: Read) -> None:
    document = read(TEXT, machine("m", key=Measurement((0.9, 0.95, 1.0, 1.05, 1.1), "1")))
    (box,) = document.findall(Predict)
    text = box.astext()
    assert "How much is it?" in text
    assert "as much (0.8–1.2 times)" in text
    assert "Measured: 1.00 ± 0.05 times, on Chip of m, 2 cores" in text


def test_in_chinese_too(read: Read) -> None:
    (box,) = read(TEXT, machine("m", key=Measurement(NARROW, "1")), language=1).findall(Predict)
    assert "as much（0.8–1.2倍）" in box.astext()
    assert "实测：1.02 ± 0.01倍（Chip of m，2核）" in box.astext()
    assert json.loads(box["told"])["above"] == "猜高了"
    assert labels_of(BOOK, BOOK.languages[1]).missing == {}


@pytest.mark.parametrize(
    ("options", "value", "said"),
    [
        (":scale: 1e-6 1", Measurement((1e-5, 1.1e-5, 1.2e-5, 1.3e-5, 1.4e-5), "s"), "Measured: 12.0 ± 1.0 µs, on"),
        (":scale: 1 100\n:unit: steps", 4, "Measured: 4 steps, on"),
        (":scale: 1 100", 4, "Measured: 4, on"),
        (":scale: 1 100", 4.0, "Measured: 4 times, on"),
    ],
)
def test_the_record_s_unit_is_said(read: Read, options: str, value: Any, said: str) -> None:
    document = read(f"```{{predict}} p.key\n{options}\n\nHow much?\n```\n", machine("m", key=value))
    assert said in document.astext()


def test_of_what_is_computed_no_machine_is_named(read: Read) -> None:
    document = read("```{predict} p.key.percent\n:computed:\n\nHow much?\n```\n", machine("m", key=0.25))
    assert "Computed: 25 %" in document.astext()
    assert "Chip of m" not in document.astext()


def test_a_percentage_is_a_hundred_times_the_record(read: Read) -> None:
    document = read("```{predict} p.key.percent\nHow much?\n```\n", machine("m", key=0.25))
    assert "Measured: 25 %, on" in document.astext()
    (box,) = document.findall(Predict)
    assert json.loads(box["told"])["centres"] == [25.0]


def test_this_edition_s_machine_comes_first_and_then_whoever_has_it(read: Read) -> None:
    mine, other, bare = machine("mine", key=0.5), machine("other", key=2.0), machine("bare", another=1.0)
    assert "Chip of mine" in read(TEXT, mine, other).astext()
    assert "Chip of other" in read(TEXT, bare, other).astext()


def test_where_none_has_it_nothing_is_asked_and_nothing_hidden(read: Read) -> None:
    document = read(TEXT, machine("bare", another=1.0))
    assert not list(document.findall(Predict))
    assert not list(document.findall(Hidden))
    assert document.astext().split() == ["A", "Before.", "Behind.", "After."]


@pytest.mark.parametrize(
    ("following", "hidden"),
    [
        ("One.\n\nTwo.\n", ["One.", "Two."]),
        ("One.\n\n```{predict-end}\n```\n\nTwo.\n", ["One."]),
        ("One.\n\n## B\n\nTwo.\n", ["One."]),
        ("One.\n\n```{predict} p.two\n:scale: 1 9\n\nWhat?\n```\n\nTwo.\n", ["One.", "Two."]),
        ("## B\n", []),
    ],
)
def test_hidden_is_what_follows_up_to_the_end(read: Read, following: str, hidden: list[str]) -> None:
    asked = "# A\n\n```{predict} p.key\n:scale: 1 9\n\nHow much?\n```\n\n"
    document = read(asked + following, machine("m", key=2.0, two=3.0))
    boxes = list(document.findall(Hidden))
    assert [node.astext() for box in boxes for node in box.children] == hidden
    assert all(isinstance(box.parent[box.parent.index(box) - 1], Predict) for box in boxes)


def test_a_notebook_has_question_and_choices_in_plain_words_and_no_answer(read: Read) -> None:
    document = read(TEXT, machine("m", key=2.0))
    text = "\n\n".join(map(str, Markdown("", {}, "Figure %s").parts(document)))
    assert "<strong>Guess first</strong>\n\nHow much <em>is</em> it?\n\n- less (\\< 0.8 times)\n- as much (" in text
    assert "Measured" not in text
    assert "Behind." in text


# --- the book's own questions ---


@pytest.fixture(scope="module")
def recorded() -> list[Machine]:
    """The machines of the committed records."""
    return recorded_machines(BOOK)


@pytest.mark.parametrize("page", [page for _, page in every_page(BOOK) if list(asked_on(page))], ids=lambda p: p.name)
def test_a_scale_holds_what_every_current_record_says(page: Any, recorded: list[Machine]) -> None:
    for _, name, options, _ in asked_on(page):
        asked, answered = question(name, options), 0
        for each in recorded:
            found = None if each.stale(asked.key) else answer(asked, each)
            answered += found is not None
            if found and asked.scale:
                assert asked.scale[0] < found.centres[0] < asked.scale[1], f"{name} on {each.name}"
        assert answered, name


def test_every_chapter_asks() -> None:
    asked = {page.path.stem for _, page in every_page(BOOK) if len(list(asked_on(page))) >= 2}
    assert asked >= {"measuring", "compilers", "async", "parallel", "hardware", "multigpu", "concise", "servers"}


def test_the_tiny_book_asks_nothing(tiny: Book) -> None:
    assert list(asked_on(page_at(tiny, tiny.page("en", "tiny")))) == []
