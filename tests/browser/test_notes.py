"""Margin notes: what a line cites stands beside it where there is room, and is no part of the text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from booktools.book import Language
from tests.browser.conftest import counterpart, languages
from tests.browser.test_site import NARROW, WIDE

LANGUAGES = pytest.mark.parametrize("language", languages(), ids=lambda language: language.code)
NAME = "compilers.html"
NOTES = """() => [...document.querySelectorAll(".dl-aside")].map((note) => {
  let citation = note;
  while (!citation.matches(".bibtex-citation")) citation = citation.nextElementSibling;
  const [own, line] = [note.getBoundingClientRect(), citation.getClientRects()[0]];
  return {left: own.left, right: own.right, top: own.top, bottom: own.bottom, seen: own.width > 0, line: line.top,
    lineBottom: line.bottom, said: note.dataset.note, known: citation.textContent.includes(note.dataset.label)};
}).filter((note) => note.lineBottom > note.line)"""
BOXES = """() => {
  const box = (selector) => document.querySelector(selector).getBoundingClientRect().toJSON();
  return {text: box("main > article"), contents: box(".dl-toc"), main: box("main"),
    wider: document.scrollingElement.scrollWidth - innerWidth};
}"""


def opened(browser: Browser, address: str, width: int, **options: Any) -> Page:
    page = browser.new_context(viewport={"width": width, "height": 900}, **options).new_page()
    page.goto(address)
    return page


@LANGUAGES
@pytest.mark.parametrize("width", [WIDE["width"], 1680])
@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_notes_stand_between_the_text_and_its_contents(
    browser: Browser, file_base: str, language: Language, width: int, scripts: bool
) -> None:
    page = opened(browser, file_base + counterpart(NAME, language), width, java_script_enabled=scripts)
    notes, boxes = page.evaluate(NOTES), page.evaluate(BOXES)
    assert len(notes) > 5
    before = None
    for note in notes:
        assert note["known"], "of another citation"
        assert note["left"] >= boxes["text"]["right"] + 8
        assert note["right"] <= boxes["contents"]["left"] - 8
        assert note["top"] >= note["line"] - 34, "not beside its line, nor the one before, at whose end it stands"
        if before and note["top"] < before["bottom"] + 20:
            assert note["top"] >= before["bottom"], "they lie on each other"
        else:
            assert note["top"] <= note["lineBottom"] + 12, "not beside its line"
        before = note
    assert boxes["wider"] <= 0
    page.context.close()


@pytest.mark.parametrize("width", [1439, NARROW["width"]])
def test_without_room_there_are_none(browser: Browser, http_base: str, width: int) -> None:
    page = opened(browser, http_base + NAME, width)
    notes, boxes = page.evaluate(NOTES), page.evaluate(BOXES)
    assert not any(note["seen"] for note in notes)
    left, right = boxes["text"]["left"] - boxes["main"]["left"], boxes["main"]["right"] - boxes["text"]["right"]
    assert abs(left - right) <= 1, "the text stands in the middle"
    page.context.close()


@LANGUAGES
def test_they_are_no_part_of_the_text(browser: Browser, http_base: str, site: Path, language: Language) -> None:
    page = opened(browser, http_base + counterpart(NAME, language), WIDE["width"])
    said = [note["said"] for note in page.evaluate(NOTES)]
    text = page.locator("article").inner_text()
    assert not any(words in text for words in said)
    assert page.locator(".dl-aside:not([aria-hidden=true])").count() == 0
    home = (site / "notebooks" / language.code / NAME.replace("html", "ipynb")).read_text(encoding="utf-8")
    assert "dl-aside" not in home
    assert not any(words in home for words in said)
    page.context.close()


def test_a_section_has_each_once(browser: Browser, http_base: str) -> None:
    page = opened(browser, http_base + "hardware.html", WIDE["width"])
    of = "(all) => all.map((note) => `${note.closest('section:has(> :is(h1, h2, h3, h4))').id} ${note.dataset.label}`)"
    found = page.locator(".dl-aside").evaluate_all(of)
    assert len(found) > 10
    assert len(found) == len(set(found))
    page.context.close()
