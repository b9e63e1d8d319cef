"""Figures enlarged to the window: opened, scrolled and closed, by pointer, keyboard and finger."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page, expect

from booktools.book import Language
from tests.browser.conftest import ANSWERED, counterpart, languages
from tests.browser.test_accessibility import BROKEN, RULES
from tests.browser.test_previews import TWICE
from tests.browser.test_site import NARROW, WIDE

LANGUAGES = pytest.mark.parametrize("language", languages(), ids=lambda language: language.code)
NAME = "compilers.html"
SMALL = 1_500
"""The most that may be sent for it, compressed: bytes."""
DIALOG, BUTTON = "dialog.dl-zoom", "article figure .dl-enlarge"
SCALE = """(svg) => svg.getBoundingClientRect().width && Math.min(
  svg.getBoundingClientRect().width / svg.viewBox.baseVal.width,
  svg.getBoundingClientRect().height / svg.viewBox.baseVal.height)"""
ABOVE = """(button) => {
  const [own, figure] = [button.getBoundingClientRect(), button.closest("figure")];
  const drawing = figure.querySelector(".dl-figure").getBoundingClientRect();
  let before = figure;
  while (!before.previousElementSibling) before = before.parentElement;
  return [own.top - before.previousElementSibling.getBoundingClientRect().bottom, drawing.top - own.bottom, own.height];
}"""


@pytest.fixture
def page(browser: Browser, http_base: str) -> Iterator[Page]:
    context = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
    tab = context.new_page()
    tab.goto(http_base + NAME)
    tab.evaluate(ANSWERED)
    yield tab
    context.close()


def is_focused(page: Page, selector: str) -> bool:
    focused: bool = page.evaluate("(selector) => document.activeElement.matches(selector)", selector)
    return focused


@LANGUAGES
def test_every_figure_has_a_button_with_its_number(browser: Browser, base: str, language: Language) -> None:
    context = browser.new_context(viewport=NARROW, has_touch=True)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(base + counterpart(NAME, language))
    captions = page.locator("article figure .caption-number").all_text_contents()
    numbers = [re.sub(r"[^\d.]", "", caption) for caption in captions]
    assert len(numbers) > 5
    said = {"en": "Enlarge figure {}", "zh": "放大查看图{}"}[language.code]
    names = page.locator(BUTTON).evaluate_all("(all) => all.map((button) => button.ariaLabel)")
    assert names == [said.format(number) for number in numbers]
    context.close()


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_button_covers_nothing(page: Page, size: Any) -> None:
    page.set_viewport_size(size)
    for button in page.locator(BUTTON).all():
        above, below, height = button.evaluate(ABOVE)
        assert above >= -1
        assert below >= -1
        assert height >= 24


@LANGUAGES
def test_it_fills_the_window_with_the_drawing_and_its_caption(browser: Browser, base: str, language: Language) -> None:
    context = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(base + counterpart(NAME, language))
    figure = page.locator("article figure").nth(1)
    before = figure.locator(".dl-whole").evaluate(SCALE)
    figure.locator(".dl-enlarge").click()
    dialog = page.locator(DIALOG)
    expect(dialog).to_be_visible()
    assert dialog.locator("svg").evaluate(SCALE) > 1.3 * before
    assert dialog.evaluate("(dialog) => dialog.matches(':modal')")
    assert dialog.locator("use").evaluate("(use) => use.getBBox().width") > 100, "nothing is drawn"
    caption = figure.locator("figcaption p").inner_text().replace("§", "").strip()
    assert dialog.locator("p").inner_text().strip() == caption
    assert dialog.locator("svg").evaluate("(svg) => svg.ariaLabel").strip() == caption
    boxes = dialog.locator("svg, p, button").evaluate_all("(all) => all.map((e) => e.getBoundingClientRect().toJSON())")
    assert len(boxes) == 3
    for box in boxes:
        assert box["left"] >= 0
        assert box["top"] >= 0
        assert box["right"] <= WIDE["width"]
        assert box["bottom"] <= WIDE["height"]
    assert page.evaluate(TWICE) == []
    context.close()


@pytest.mark.parametrize("way", ["escape", "button", "click"])
def test_it_closes_and_the_focus_returns(page: Page, way: str) -> None:
    button = page.locator(BUTTON).nth(2)
    button.focus()
    at = page.evaluate("scrollY")
    page.keyboard.press("Enter")
    expect(page.locator(DIALOG)).to_be_visible()
    assert is_focused(page, f"{DIALOG} *")
    if way == "escape":
        page.keyboard.press("Escape")
    else:
        page.locator(f"{DIALOG} {'button' if way == 'button' else 'svg'}").click()
    expect(page.locator(DIALOG)).to_have_count(0)
    assert button.evaluate("(button) => button === document.activeElement")
    assert page.evaluate("scrollY") == at


def test_a_click_on_the_drawing_opens_it_and_selecting_its_words_does_not(page: Page) -> None:
    figure = page.locator("article figure").nth(1)
    figure.scroll_into_view_if_needed()
    box = figure.locator(".dl-whole text").first.bounding_box()
    assert box
    page.mouse.move(box["x"] + 1, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"], box["y"] + box["height"] / 2, steps=4)
    page.mouse.up()
    assert page.evaluate("getSelection().toString()")
    assert page.locator(DIALOG).count() == 0
    page.evaluate("getSelection().removeAllRanges()")
    figure.locator(".dl-figure").click()
    expect(page.locator(DIALOG)).to_be_visible()
    page.keyboard.press("Escape")
    assert figure.locator(".dl-enlarge").evaluate("(button) => button === document.activeElement")


@LANGUAGES
def test_on_a_phone_it_scrolls(browser: Browser, http_base: str, language: Language) -> None:
    context = browser.new_context(viewport=NARROW, has_touch=True)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(http_base + counterpart(NAME, language))
    button = page.locator(BUTTON).nth(1)
    assert button.evaluate("(button) => getComputedStyle(button).opacity") == "1", "no finger hovers"
    button.tap()
    box = page.locator(".dl-zoom-box")
    assert box.evaluate("(box) => { box.scrollLeft = 9999; return box.scrollLeft; }") > 100
    assert box.evaluate("(box) => box.tabIndex") == 0
    assert page.locator(f"{DIALOG} svg").evaluate(SCALE) >= 4 / 3 - 0.01, "smaller than it was drawn"
    assert page.locator(DIALOG).evaluate("(dialog) => dialog.scrollWidth - innerWidth") <= 0
    close = page.locator(".dl-close").bounding_box()
    assert close
    assert close["x"] + close["width"] <= NARROW["width"]
    page.locator(".dl-close").tap()
    expect(page.locator(DIALOG)).to_have_count(0)
    context.close()


@LANGUAGES
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_breaks_no_rule(browser: Browser, http_base: str, language: Language, scheme: Any) -> None:
    context = browser.new_context(viewport=NARROW, color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(http_base + counterpart(NAME, language))
    page.evaluate(AXE_SCRIPT)
    page.locator(BUTTON).nth(1).click()
    found = page.evaluate(BROKEN.replace("axe.run(document", f"axe.run('{DIALOG}'"), RULES)
    assert found == [], json.dumps(found, indent=1, ensure_ascii=False)
    context.close()


def test_without_scripts_there_is_no_button(browser: Browser, http_base: str) -> None:
    context = browser.new_context(viewport=WIDE, java_script_enabled=False)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(http_base + NAME)
    expect(page.locator("article figure .dl-whole").first).to_be_visible()
    assert page.locator(BUTTON).count() == 0
    context.close()


def test_it_is_loaded_where_there_are_figures_and_is_small(site: Path) -> None:
    assert len(gzip.compress((site / "_static" / "zoom.js").read_bytes(), 9)) <= SMALL
    for path in site.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert ("zoom.js" in text) == ('class="dl-whole"' in text), path.name
