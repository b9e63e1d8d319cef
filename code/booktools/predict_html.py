"""How a page holds a question of {predict}: as HTML that is whole without a script; `theme/static/predict.js` asks.

The page has the question, what may be guessed, what was measured, and after it what is hidden until the guess. Only
the script hides, so that whoever has none reads question and answer one after the other.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Sequence

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from booktools.guesses import Answer, position

SLIDER = """<div class="dl-slider" data-stops="{told}" hidden>
<p class="dl-value" aria-hidden="true"></p>
<div class="dl-track">
<input type="range" min="0" max="{last}" value="{middle}" aria-label="{label}" autocomplete="off">
<div class="dl-found" aria-hidden="true" hidden><i style="left:{left:.2f}%;width:{width:.2f}%"></i>{medians}</div>
<div class="dl-ticks" aria-hidden="true">{ticks}</div>
</div>
</div>"""


class Predict(nodes.General, nodes.Element):
    """A question; ``told`` are the data that its script asks for."""


class Guess(nodes.General, nodes.Element):
    """What may be guessed: a list of choices or a scale; ``question`` is the id of the words that name it."""


class Choice(nodes.Inline, nodes.TextElement):
    """One of several answers; ``right`` if what was measured lies in its range."""


class Measured(nodes.General, nodes.Element):
    """What was measured, and what the guess is worth."""


class Hidden(nodes.General, nodes.Element):
    """What shows only after the guess."""


class End(nodes.General, nodes.Element):
    """Where what is hidden ends."""


def slider(
    stops: Sequence[float], say: Callable[[float], str], tick: Callable[[float], str], found: Answer, label: str
) -> str:
    """Returns a slider that stops at ``stops``, which ``say`` puts into words, and ``tick`` into those of its scale;
    what was measured is marked, hidden."""
    place = lambda value: 100 * position(value, stops)
    return SLIDER.format(
        told=html.escape(json.dumps([[stop, say(stop)] for stop in stops], ensure_ascii=False)),
        last=len(stops) - 1,
        middle=(len(stops) - 1) // 2,
        label=html.escape(label),
        left=place(found.low),
        width=place(found.high) - place(found.low),
        medians="".join(f'<b style="left:{place(centre):.2f}%"></b>' for centre in found.centres),
        ticks="".join(
            f'<span style="left:{place(mark):.2f}%">{html.escape(tick(mark))}</span>' for mark in marks(stops)
        ),
    )


def marks(stops: Sequence[float]) -> list[float]:
    """Returns the numbers that stand beside a scale: its ends, and quarters, or powers of ten, or those and their 2 and
    5, where powers are few."""
    if stops[0] == 0:
        return [stop for stop in stops if stop % 25 == 0]
    round_ = [
        [stop for stop in stops if f"{stop:e}".startswith(begins)] for begins in (("1.0",), ("1.0", "2.0", "5.0"))
    ]
    return sorted({stops[0], *round_[len(round_[0]) < 3], stops[-1]})


def button(name: str, text: str) -> str:
    """Returns a button, hidden: the script shows it where it is of use."""
    return f'<button type="button" class="dl-{name}" hidden>{html.escape(text)}</button>'


def _begin(writer: HTML5Translator, node: Predict) -> None:
    writer.body.append(writer.starttag(node, "div", CLASS="dl-predict", **{"data-told": node["told"]}))


def _end(writer: HTML5Translator, node: Predict) -> None:
    writer.body.append(f'<p class="dl-guess-buttons">{node["again"]}</p>')
    writer.body.append("<script>window.dlPredict?.ask(document.currentScript.parentElement)</script></div>\n")


def _begin_guess(writer: HTML5Translator, node: Guess) -> None:
    named = {"role": "group", "aria-labelledby": node["question"]}
    writer.body.append(writer.starttag(node, "div", CLASS="dl-guess", **named))


def _end_guess(writer: HTML5Translator, node: Guess) -> None:
    writer.body.append(f'<p class="dl-guess-buttons">{node["buttons"]}</p></div>\n')


def _begin_choice(writer: HTML5Translator, node: Choice) -> None:
    low, high = (str(end).replace("inf", "Infinity") for end in node["ends"])
    told = {"type": "button", "disabled": "disabled", "data-low": low, "data-high": high}
    if node["right"]:
        told["data-right"] = ""
    writer.body.append(writer.starttag(node, "button", "", False, **told))


def _end_choice(writer: HTML5Translator, node: Choice) -> None:
    writer.body.append("</button>")


def _begin_measured(writer: HTML5Translator, node: Measured) -> None:
    writer.body.append(
        writer.starttag(node, "div", CLASS="dl-answer", role="status") + '<p class="dl-verdict" hidden></p>'
    )


def _begin_hidden(writer: HTML5Translator, node: Hidden) -> None:
    writer.body.append(writer.starttag(node, "div", CLASS="dl-predicted"))
    writer.body.append("<script>window.dlPredict?.hide(document.currentScript.parentElement)</script>")


def _end_box(writer: HTML5Translator, node: nodes.Element) -> None:
    writer.body.append("</div>\n")


def setup(app: Sphinx) -> None:
    """Registers the nodes, and how HTML writes them."""
    app.add_node(Predict, html=(_begin, _end))
    app.add_node(Guess, html=(_begin_guess, _end_guess))
    app.add_node(Choice, html=(_begin_choice, _end_choice))
    app.add_node(Measured, html=(_begin_measured, _end_box))
    app.add_node(Hidden, html=(_begin_hidden, _end_box))
    app.add_node(End)
