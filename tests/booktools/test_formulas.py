"""Formulas: MathML with the TeX beside it, and what is no formula is named."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from booktools.formulas import FormulaError, mathml


@pytest.mark.parametrize(
    "tex", [r"\frac{a}{b}", "x_i^2", r"\sqrt{2}", r"\tfrac12", r"\left\lceil n/2 \right\rceil", "a"]
)
@pytest.mark.parametrize("block", [False, True])
def test_a_formula_is_mathml_with_its_tex(tex: str, block: bool) -> None:
    root = ElementTree.fromstring(mathml(tex, block))
    assert root.tag == "math"
    assert root.get("display") == ("block" if block else "inline")
    [semantics] = root
    shown, annotation = semantics
    assert (annotation.get("encoding"), annotation.text) == ("application/x-tex", tex)
    assert shown.tag == "mrow"
    assert not set("\\&;") & set("".join(shown.itertext()))


def test_structure_becomes_elements() -> None:
    root = ElementTree.fromstring(mathml(r"\max_{i} \frac{x_i}{\sqrt{y}}"))
    assert {"mfrac", "msqrt", "msub"} <= {element.tag for element in root.iter()}


@pytest.mark.parametrize(("tex", "named"), [(r"\frac{a", "braces"), (r"\unheardof x", "unheardof")])
def test_what_is_no_formula_is_named(tex: str, named: str) -> None:
    with pytest.raises(FormulaError, match=named):
        mathml(tex)
