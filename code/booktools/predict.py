"""{predict}: a question that the reader answers before what was measured shows."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from booktools.display import Recording, sign
from booktools.edition import current
from booktools.guesses import answer, question
from booktools.predict_html import Choice, End, Guess, Hidden, Measured, Predict, button, slider
from booktools.records import Machine
from booktools.render import report_missing
from booktools.spread import Words, ratio_words, words
from dlperf.measurement import Measurement, format_quantity, scaled

logger = logging.getLogger(__name__)


class PredictDirective(SphinxDirective, Recording):
    """``{predict} page.key`` around a question: what may be guessed of that record, and behind it what was measured.

    ``:choices: less | as much | more`` with ``:bounds: 0.8 1.2`` offers answers, ``:scale: 1 100`` numbers; of
    ``page.key.percent`` a percentage is guessed, from 0 to 100 unless there is a scale. A pure number is how many
    times, unless it is whole; ``:unit: steps`` stands behind it instead. What is the same on every machine, for nothing
    is measured, is ``:computed:``, and none is named. What follows in the section is hidden until the guess, up to the
    next question or to ``{predict-end}``.

    Shown is what this edition's machine measured, or else the first that did; where none has, nothing is asked.
    """

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {
        **dict.fromkeys(("choices", "bounds", "scale", "unit"), directives.unchanged_required),
        "computed": directives.flag,
    }

    def run(self) -> list[nodes.Node]:
        try:
            self.question = question(self.arguments[0], self.options)
        except ValueError as error:  # `guesses` says so before anything is built.
            logger.warning("{predict} %s: %s", self.arguments[0], error, location=self.get_location())
            return []
        found = next(filter(None, (answer(self.question, machine) for machine in self.in_order())), None)
        if found is None:
            return []
        self.found, self.entry = found, found.machine.records[self.question.key]
        if "computed" in self.options and isinstance(self.entry["value"], Measurement):
            where = self.get_location()
            logger.warning("{predict} %s: this is measured, not :computed:", self.arguments[0], location=where)
        identity = "predict-" + self.question.key.replace(".", "-")
        asked = nodes.container(classes=["dl-question"], ids=[f"{identity}-question"])
        asked += nodes.paragraph("", "", nodes.strong("", self.say("Guess first")), classes=["dl-guess-first"])
        self.state.nested_parse(self.content, self.content_offset, asked)
        offered = self.choices() if self.question.choices else self.slider()
        guess = Guess("", offered, question=f"{identity}-question", buttons=self.buttons())
        box = Predict("", asked, guess, Measured("", self.measured()), ids=[identity], told=self.told())
        box["again"] = button("again", self.say("Guess again"))
        report_missing(self.get_location())
        return [box]

    def in_order(self) -> list[Machine]:
        """Returns the machines: this edition's, the one that lent it the record, and then the others."""
        lender = current().lenders.get(self.question.key)
        return sorted(self.machines, key=lambda machine: (machine.name != current().name, machine.name != lender))

    def choices(self) -> nodes.bullet_list:
        """Returns the answers that are offered, each with its range."""
        offered = nodes.bullet_list(classes=["dl-choices"])
        right = self.found.right(self.question)
        for text, ends, is_right in zip(self.question.choices, self.question.ranges, right, strict=True):
            said, messages = self.parse_inline(text)
            choice = Choice("", "", nodes.inline("", "", *said), ends=ends, right=is_right)
            if not isinstance(self.entry["value"], int):  # of what is counted, each choice says the number
                said_range = sign("(@)").replace("@", self.between(*ends))
                choice += nodes.inline("", said_range, classes=["dl-given", "dl-muted"])
            offered += nodes.list_item("", nodes.paragraph("", "", choice, *messages))
        return offered

    def slider(self) -> nodes.raw:
        """Returns a scale to guess on, with what was measured marked on it."""
        stops = self.question.stops(whole=isinstance(self.entry["value"], int))
        drawn = slider(stops, self.value, self.tick, self.found, self.say("Your guess"))
        return nodes.raw("", drawn, format="html")

    def tick(self, value: float) -> str:
        """Returns what stands beside a scale: of a pure number no unit, which the guess above it has."""
        bare = self.entry["unit"] == "1" and not self.question.percent
        return f"{value:.4g}" if bare else self.value(value)

    def buttons(self) -> str:
        """Returns the buttons below what may be guessed; the script shows those that are of use."""
        commit = "" if self.question.choices else button("commit", self.say("This is my guess"))
        more = html.escape(self.say("More of this section appears after your guess."))
        show = button("show", self.say("Show without guessing"))
        return f'{commit}{show}<span class="dl-more" hidden>{more}</span>'

    def between(self, low: float, high: float) -> str:
        """Returns a range in words: ``< 1.5 times``, ``1.5–5 times``, ``> 5 times``."""
        if low == -float("inf"):
            return f"< {self.value(high)}"
        return f"> {self.value(low)}" if high == float("inf") else self.value(low, high)

    def value(self, *values: float) -> str:
        """Returns a number, or from where to where, with its unit."""
        scale, suffix = scaled(values[-1], self.entry["unit"])
        text = "–".join(f"{value / scale:.4g}" for value in values)
        return text + suffix if self.entry["unit"] != "1" else self.pattern().replace("#", text)

    def pattern(self) -> str:
        """Returns how a pure number is said, # in its place: as a percentage, as a factor, or counting something."""
        if self.question.percent:
            return self.say("0 %").replace("0", "#")
        if unit := self.options.get("unit"):
            return f"# {unit}" if unit.isascii() else f"#{unit}"
        return "#" if isinstance(self.entry["value"], int) else self.say("0 times").replace("0", "#")

    def measured(self) -> nodes.paragraph:
        """Returns the line that says what was measured, its spread, and on which machine."""
        said = self.words() if not self.counted else Words(self.right_choice(), "", "")
        value: list[nodes.Node] = [nodes.strong("", said.value, classes=["dl-quantity"])]
        value += [nodes.inline("", f" {said.mark}", classes=["dl-wide"])] * bool(said.mark)
        shown = {"value": value, "machine": self.machine_words(self.found.machine)}
        line = nodes.paragraph("", classes=["dl-measured"])
        text = "Computed: {value}" if "computed" in self.options else "Measured: {value}, on {machine}"
        for part in self.say(text).replace("{", "}").split("}"):
            line += shown.get(part, [nodes.Text(part)] * bool(part))
        if self.found.machine.stale(self.question.key):
            line += nodes.inline("", " " + self.say("stale"), classes=["dl-stale"])
        return line

    @property
    def counted(self) -> bool:
        """Whether one of several numbers is the answer, each said by a choice, which may be in no order."""
        return bool(self.question.choices) and isinstance(self.entry["value"], int)

    def right_choice(self) -> str:
        """Returns what the first of the right choices says."""
        right = self.found.right(self.question)
        return next(text for text, is_right in zip(self.question.choices, right, strict=True) if is_right)

    def words(self) -> Words:
        """Returns what was measured, always with its spread."""
        value, unit, percent = self.entry["value"], self.entry["unit"], self.question.percent
        if isinstance(value, Measurement):
            said = words(value, self.say, percent=percent, spread_from=0)
            return said if percent or unit != "1" else replace(said, value=self.pattern().replace("#", said.value))
        shown = f"{100 * value:.3g}" if percent else format_quantity(value, unit)
        said = ratio_words(self.entry["ratio"], shown, self.say) if "ratio" in self.entry else Words(shown, "", "")
        return replace(said, value=self.pattern().replace("#", said.value)) if unit == "1" else said

    def told(self) -> str:
        """Returns what the script needs, as JSON: what is right, and the sentences that say what a guess is worth."""
        guess = "“{guess}”" if self.question.choices else "{guess}"
        off = "" if self.question.choices else "{off} percentage points " if self.question.percent else "{off} times "
        low, high = self.found.near(self.question)
        return json.dumps(
            {
                "centres": self.found.centres,
                "low": low,
                "high": high,
                "percent": self.question.percent,
                "guessed": self.say(f"You guessed {guess}: {{verdict}}."),
                "right": self.say("that is right"),
                "above": self.say("that is not so" if self.counted else f"{off}too high"),
                "below": self.say("that is not so" if self.counted else f"{off}too low"),
                "yours": self.say("your guess"),
                "found": self.say("measured"),
            },
            ensure_ascii=False,
        )


class EndDirective(SphinxDirective):
    """``{predict-end}``: what follows is not hidden by the question before."""

    def run(self) -> list[nodes.Node]:
        return [End()]


class HideAnswers(SphinxTransform):
    """Puts what follows a question into what its script hides: up to the next one, a section, or `End`."""

    default_priority = 750  # labels have found what they stand before

    def apply(self, **kwargs: Any) -> None:
        for box in list(self.document.findall(Predict)):
            around, place = box.parent, box.parent.index(box) + 1
            hidden = list(_following(around[place:]))
            for node in hidden:
                around.remove(node)
            if hidden:
                around.insert(place, Hidden("", *hidden))
        for end in list(self.document.findall(End)):
            end.parent.remove(end)


def _following(siblings: Sequence[nodes.Node]) -> Iterator[nodes.Node]:
    for node in siblings:
        if isinstance(node, Predict | End | nodes.section):
            return
        yield node


def setup(app: Sphinx) -> None:
    """Registers the directives, and the transform that finds what they hide."""
    app.add_directive("predict", PredictDirective)
    app.add_directive("predict-end", EndDirective)
    app.add_transform(HideAnswers)
