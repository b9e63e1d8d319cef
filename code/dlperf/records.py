"""Handing values to the book: what a cell records stands in its output and travels from there."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from typing import Any

from dlperf.environment import environment
from dlperf.measurement import Measurement, format_quantity
from dlperf.ratio import Ratio

MIME = "application/vnd.dlperf.record+json"
"""The JSON of one record; `booktools` reads it out of executed notebooks."""

PREFIX = "application/papermill.record/"
"""MyST-NB finds what `glue` stored by this prefix and shows nothing in its place."""


def svg(figure: Any) -> str:
    """Returns a matplotlib figure as SVG whose text stays text, without date or creator."""
    buffer = io.StringIO()
    figure.savefig(
        buffer, format="svg", bbox_inches="tight", transparent=True, metadata={"Date": None, "Creator": None}
    )
    return buffer.getvalue()


def bundle(key: str, value: Any, unit: str = "1", digits: int = 3) -> dict[str, dict[str, Any]]:
    """Returns the mime bundles to store: ``key`` itself and, for a measurement, its derived keys.

    ``key.iqr`` is the spread, ``key.percent`` the median of a pure number as a percentage.
    """
    if isinstance(value, Measurement):
        data: dict[str, Any] = {"key": key, "kind": "measurement", "measurement": value.to_json()}
        derived = {f"{key}.iqr": _text(format_quantity(value.iqr, value.unit, 2))}
        if value.unit == "1":
            derived |= _percentages(key, value.median)
        return {key: {"text/plain": str(value), MIME: data}, **derived}
    if hasattr(value, "savefig"):
        return {key: {"image/svg+xml": svg(value)}}
    if hasattr(value, "_repr_html_"):
        return {key: {"text/html": value._repr_html_()}}
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError(f"{key}: record takes a Measurement, a number, a str, a table or a figure, got {value!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(
            f"{key}: {value} cannot be recorded, since JSON has no such number and no claim could compare it; "
            "record a finite number, or a sign that says what is meant, such as '∞' or '–'"
        )
    data = {"key": key, "kind": "value", "value": value, "unit": unit, "environment": environment()}
    if isinstance(value, Ratio):
        sides = [{"samples": list(side.samples), "unit": side.unit} for side in value.sides]
        data |= {"value": float(value), "sides": sides, "because": value.because}
    shown = value if isinstance(value, str) else format_quantity(value, unit, digits)
    derived = _percentages(key, value) if unit == "1" and not isinstance(value, str) else {}
    return {key: {"text/plain": str(shown), MIME: data}, **derived}


def _text(text: str) -> dict[str, Any]:
    return {"text/plain": text}


def _percentages(key: str, value: float) -> dict[str, dict[str, Any]]:
    return {f"{key}.percent": _text(f"{100 * value:.3g} %")}


def record(key: str, value: Any, unit: str = "1", digits: int = 3) -> None:
    """Stores ``value`` under ``key`` for prose, tables, claims and tests.

    ``key`` is ``page.name``. ``value`` is a `Measurement`, a number in ``unit``, shown with so many
    significant ``digits``, a string of digits or identifiers (no words: a page in another language
    shows it too), a matplotlib figure, or a table. Outside a notebook there is nothing to hand it
    to, so the line is printed instead. Raises TypeError for anything else, ValueError for a key
    without a page and for what is not a finite number. See the chapter *Measuring performance*.
    """
    page, _, name = key.partition(".")
    if not page or not name:
        raise ValueError(f"a record's key is page.name, such as async.enqueue; got {key!r}")
    bundles = bundle(key, value, unit, digits)
    display = _notebook_display()
    if display is None:
        print(json.dumps({key: bundles[key].get("text/plain", type(value).__name__)}, ensure_ascii=False))
        return
    for name, data in bundles.items():
        prefixed = {PREFIX + mime: content for mime, content in data.items()}
        display(prefixed, raw=True, metadata={"scrapbook": {"name": name, "mime_prefix": PREFIX}})
    if hasattr(value, "savefig"):
        import matplotlib.pyplot as plt

        plt.close(value)


def _notebook_display() -> Callable[..., object] | None:
    """Returns what shows output in a notebook; None in a script, where IPython need not be installed."""
    try:
        from IPython.core.getipython import get_ipython
        from IPython.display import display
    except ImportError:
        return None
    return display if get_ipython() is not None else None
