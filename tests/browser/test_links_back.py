"""Terms and references lead back to where they are used, and what a link led to is marked."""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Browser, Page, expect

from booktools.book import Language
from tests.browser.conftest import counterpart, language_of, languages, site_folder
from tests.browser.test_site import CHAPTERS, NARROW, WIDE

LANGUAGES = pytest.mark.parametrize("language", languages(), ids=lambda language: language.code)
LISTS = pytest.mark.parametrize("name", ["glossary.html", "references.html"])
ENTRY = "dl.glossary dt, .citation"


@functools.cache
def parsed(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def section_of(element: Tag) -> Tag:
    """Returns the section with a heading in which an element stands."""
    return next(each for each in element.find_parents("section") if each.find(re.compile("h[1-4]"), recursive=False))


def links_back(path: Path) -> dict[str, list[Tag]]:
    """Returns the links back of each entry of a page, by its anchor."""
    found = {}
    for entry in parsed(path).select(ENTRY):
        text = entry if entry.name == "div" else entry.find_next_sibling("dd")
        assert isinstance(text, Tag)
        found[str(entry["id"])] = text.select(".dl-uses a")
    return found


@LANGUAGES
@LISTS
def test_links_back_lead_to_a_link_to_the_entry(site: Path, language: Language, name: str) -> None:
    """They say the number and title of the section in which that stands."""
    path = site / counterpart(name, language)
    found = links_back(path)
    assert sum(map(len, found.values())) > 100
    for anchor, links in found.items():
        for link in links:
            page, _, place = str(link["href"]).partition("#")
            there = parsed(path.parent / page).find(id=place)
            assert isinstance(there, Tag), link
            ways = [there.parent, *there.find_all("a")]
            assert f"{name}#{anchor}" in [way.get("href") for way in ways if way], link
            heading = section_of(there).find(re.compile("h[1-4]"), recursive=False)
            assert isinstance(heading, Tag)
            title = (
                heading.get_text().removesuffix("§").replace(". ", " ", 1 if heading.select(".section-number") else 0)
            )
            assert link.get_text().startswith(title.strip()), link


@LANGUAGES
@LISTS
def test_no_use_is_left_out(site: Path, language: Language, name: str) -> None:
    """Each section that refers to an entry has one link back."""
    folder = (site / counterpart(name, language)).parent
    used: dict[str, list[tuple[str, str]]] = {}
    for page in (Path(page).name for page in CHAPTERS if language_of(page) == language):
        for link in parsed(folder / page).select(f'article a[href^="{name}#"]'):
            place = (page, str(section_of(link)["id"]))
            places = used.setdefault(str(link["href"]).partition("#")[2], [])
            if place not in places:
                places.append(place)
    for anchor, links in links_back(folder / name).items():
        targets = [str(link["href"]).partition("#") for link in links]
        sections = [(page, str(section_of(_at(folder / page, place))["id"])) for page, _, place in targets]
        assert sorted(sections) == sorted(used.get(anchor, [])), anchor


def _at(path: Path, anchor: str) -> Tag:
    found = parsed(path).find(id=anchor)
    assert isinstance(found, Tag)
    return found


# --- what a link led to ---

KINDS = {
    "term": ("glossary.html", "dl.glossary dt"),
    "reference": ("references.html", ".citation"),
    "section": ("multigpu.html", "article section section"),
    "figure": ("multigpu.html", "article figure"),
    "equation": ("multigpu.html", "article div.math[id]"),
    "exercise": ("multigpu.html", ".exercise"),
    "claim": ("multigpu.html", ".dl-claim"),
    "use of a term": ("multigpu.html", ".std-term[id]"),
    "citation": ("multigpu.html", ".bibtex-citation"),
}
MARKED = """(id) => {
  const target = document.getElementById(id);
  const element = target.matches("section") ? target.querySelector(":scope > :is(h1, h2, h3, h4)") : target;
  const style = getComputedStyle(element);
  const bar = style.boxShadow === "none" ? [] : style.boxShadow.match(/rgba?\\([^)]*\\)|color\\([^)]*\\)/g).slice(-1);
  const outline = style.outlineStyle === "none" ? [] : [style.outlineColor];
  const paint = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const luminance = (colour) => {
    paint.fillStyle = colour;
    paint.fillRect(0, 0, 1, 1);
    const linear = (c) => ((c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = [...paint.getImageData(0, 0, 1, 1).data].map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = luminance(getComputedStyle(document.body).backgroundColor);
  return [...bar, ...outline].map((colour) => {
    const [a, b] = [luminance(colour), paper].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  });
}"""
TIMES = "document.getAnimations().map((each) => each.effect.getComputedTiming().duration)"


def opened(browser: Browser, base: str, name: str, selector: str, **options: Any) -> tuple[Page, str]:
    """Returns a page at the anchor of the first such element, and that anchor."""
    found = parsed(site_folder() / name).select_one(selector)
    assert found
    page = browser.new_context(**options).new_page()
    page.goto(f"{base}{name}#{found['id']}")
    return page, str(found["id"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_target_is_marked_for_a_while(browser: Browser, http_base: str, scheme: Any, kind: str) -> None:
    page, anchor = opened(browser, http_base, *KINDS[kind], viewport=WIDE, color_scheme=scheme)
    contrasts = page.evaluate(MARKED, anchor)
    assert contrasts, "nothing marks it"
    assert min(contrasts) >= 3
    assert min(page.evaluate(TIMES)) >= 3000, "it goes before it is seen"
    page.evaluate("document.getAnimations().forEach((each) => each.finish())")
    page.evaluate("document.activeElement.blur()")  # what scrolls has the focus, and its outline
    assert page.evaluate(MARKED, anchor) == []
    page.context.close()


@pytest.mark.parametrize("kind", KINDS)
def test_without_motion_the_mark_stays(browser: Browser, http_base: str, kind: str) -> None:
    page, anchor = opened(browser, http_base, *KINDS[kind], viewport=NARROW, reduced_motion="reduce")
    assert page.evaluate(TIMES) == []
    assert min(page.evaluate(MARKED, anchor)) >= 3
    assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
    page.context.close()


@LANGUAGES
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_link_back_is_followed_without_scripts(
    browser: Browser, file_base: str, language: Language, size: Any
) -> None:
    context = browser.new_context(viewport=size, java_script_enabled=False)
    page = context.new_page()
    page.goto(file_base + counterpart("references.html", language))
    link = page.locator(".dl-uses a").first
    href = str(link.get_attribute("href"))
    link.click()
    page.wait_for_url(f"**/{href}")
    expect(page.locator(f"[id='{href.partition('#')[2]}']")).to_be_in_viewport()
    context.close()


def test_the_other_language_opens_at_the_section_of_a_use(browser: Browser, http_base: str) -> None:
    """Anchors of uses are counted, so they are no place in another language."""
    page, anchor = opened(
        browser, http_base, "multigpu.html", "article section section section .std-term[id]", viewport=WIDE
    )
    other = languages()[1]
    page.locator(f'.dl-languages a[hreflang="{other.html}"]').click()
    page.wait_for_url(f"**/{counterpart('multigpu.html', other)}#multigpu-*")
    assert anchor not in page.url
    page.context.close()
