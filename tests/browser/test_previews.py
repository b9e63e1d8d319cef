"""What a link leads to is shown on a card: by pointer, keyboard and finger, in both languages, from files too."""

from __future__ import annotations

import functools
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from booktools.book import Language
from tests.browser.conftest import counterpart, languages
from tests.browser.test_accessibility import BROKEN, RULES
from tests.browser.test_site import NARROW, WIDE

LANGUAGES = pytest.mark.parametrize("language", languages(), ids=lambda language: language.code)
SIZES = pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
CARD = "#dl-card"
LINK = "article :is(p, li) a.internal:not(.headerlink, .dl-tree a, .dl-card a, [download])"
TERM, CITED = f'{LINK}[href*="glossary.html#"]', f'{LINK}[href*="references.html#"]'
SECTION, EQUATION = f'{LINK}[href*="measuring.html#"]', f'{LINK}[href^="#equation"]'
TWICE = "() => [...document.querySelectorAll('[id]')].map((e) => e.id).filter((id, n, all) => all.indexOf(id) !== n)"
OPEN_ALL = """() => {
  for (const each of document.querySelectorAll("article details")) each.open = true;
  for (const each of document.querySelectorAll("button.dl-show")) each.click(); // what waits for a guess
}"""
SMALL = {"previews.js": 3_000, "templates": 7_000}
"""The most that may be sent for cards, compressed: bytes."""


@pytest.fixture
def mouse(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
    yield context
    context.close()


@pytest.fixture
def finger(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=NARROW, has_touch=True)  # type: ignore[arg-type]
    yield context
    context.close()


def opened(context: BrowserContext, address: str, selector: str) -> tuple[Page, Locator]:
    """Returns a page whose time stands still, and the first such link on it, in the middle of the window."""
    page = context.new_page()
    page.clock.install()
    page.goto(address)
    page.evaluate(OPEN_ALL)
    page.clock.pause_at(page.evaluate("Date.now()") + 1000)
    link = page.locator(selector).first
    link.evaluate("(link) => link.scrollIntoView({block: 'center'})")
    return page, link


def rest_on(page: Page, link: Locator) -> None:
    """Moves the pointer onto a link and lets it rest there."""
    boxes = link.evaluate("(link) => [...link.getClientRects()].map((box) => [box.x, box.y, box.width, box.height])")
    x, y, width, height = boxes[0]
    page.mouse.move(x + width / 2, y + height / 2, steps=2)
    page.clock.run_for(400)


@functools.cache
def parsed(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def entry(site: Path, page: str, href: str) -> Tag:
    """Returns what a link on a page leads to, as the site has it."""
    name, _, anchor = href.partition("#")
    found = parsed((site / page).parent / name if name else site / page).find(id=anchor)
    assert isinstance(found, Tag)
    return found


def squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


# --- what it shows ---


@LANGUAGES
def test_a_term_shows_what_it_means(mouse: BrowserContext, base: str, site: Path, language: Language) -> None:
    name = counterpart("slow.html", language)
    page, link = opened(mouse, base + name, TERM)
    rest_on(page, link)
    term = entry(site, name, str(link.get_attribute("href")))
    explained = term.find_next_sibling("dd")
    assert isinstance(explained, Tag)
    said = squeezed(page.locator(CARD).inner_text())
    assert said == squeezed(f"{term.get_text().removesuffix('§')} {explained.find('p').get_text()}")  # type: ignore[union-attr]


@LANGUAGES
def test_a_citation_shows_the_reference(mouse: BrowserContext, base: str, site: Path, language: Language) -> None:
    name = counterpart("slow.html", language)
    page, link = opened(mouse, base + name, CITED)
    rest_on(page, link)
    reference = entry(site, name, str(link.get_attribute("href"))).find("p")
    assert isinstance(reference, Tag)
    assert squeezed(page.locator(CARD).inner_text()) == squeezed(reference.get_text())
    links = page.locator(f"{CARD} a").evaluate_all("(all) => all.map((a) => a.href)")
    assert links == [link["href"] for link in reference.select("a")]
    assert not link.get_attribute("title"), "the browser would show it a second time"


@LANGUAGES
def test_a_section_elsewhere_shows_how_it_begins(
    mouse: BrowserContext, base: str, site: Path, language: Language
) -> None:
    name = counterpart("slow.html", language)
    page, link = opened(mouse, base + name, SECTION)
    rest_on(page, link)
    section = entry(site, name, str(link.get_attribute("href")))
    heading, paragraph = (section.find(tag, recursive=False) for tag in (re.compile("h[1-4]"), "p"))
    assert isinstance(heading, Tag)
    assert isinstance(paragraph, Tag)
    title = heading.get_text().removesuffix("§").replace(". ", " ", 1)
    where, head, text = (squeezed(each) for each in page.locator(f"{CARD} p").all_inner_texts())
    assert head == title
    assert where in squeezed(parsed((site / name).parent / "measuring.html").get_text().replace(". ", " "))
    assert paragraph.get_text()[:12] == text[:12]
    assert 12 < len(text) <= 201


@LANGUAGES
def test_an_equation_shows_the_formula(mouse: BrowserContext, base: str, language: Language) -> None:
    page, link = opened(mouse, base + counterpart("parallel.html", language), EQUATION)
    rest_on(page, link)
    there = page.locator(str(link.get_attribute("href")))
    shown = page.locator(f"{CARD} math")
    assert shown.evaluate("(math) => math.outerHTML") == there.locator("math").evaluate("(math) => math.outerHTML")
    box = shown.bounding_box()
    assert box
    assert box["width"] > 20
    assert box["height"] > 10


@LANGUAGES
def test_a_figure_shows_a_small_picture_and_its_caption(mouse: BrowserContext, base: str, language: Language) -> None:
    page, link = opened(mouse, base + counterpart("measuring.html", language), f'{LINK}[href^="#measuring-fig"]')
    rest_on(page, link)
    caption = page.locator(f"{link.get_attribute('href')} figcaption p").inner_text()
    assert squeezed(page.locator(CARD).inner_text()) == squeezed(caption.replace("§", ""))
    drawn = page.locator(f"{CARD} use")
    assert drawn.evaluate("(use) => use.getBBox().width") > 100, "nothing is drawn"
    assert drawn.evaluate("(use) => use.ownerSVGElement.getBoundingClientRect().width") < 440


@LANGUAGES
@pytest.mark.parametrize(
    ("name", "selector"),
    [("parallel.html", '[href="#parallel-ex-3"]'), ("hardware.html", '[href="#hardware-processor"]')],
    ids=["exercise", "section"],
)
def test_what_stands_on_the_page_is_cloned(
    mouse: BrowserContext, http_base: str, language: Language, name: str, selector: str
) -> None:
    page, link = opened(mouse, http_base + counterpart(name, language), LINK + selector)
    rest_on(page, link)
    said = squeezed(page.locator(CARD).inner_text())
    there = page.locator(str(link.get_attribute("href")))
    paragraph = there.locator("p:not(.admonition-title)").first.inner_text()
    assert squeezed(paragraph) in said
    assert page.locator(f"{CARD} :is(button, .headerlink)").count() == 0


# --- when it comes and goes ---


def test_it_waits_before_it_comes(mouse: BrowserContext, http_base: str) -> None:
    page, link = opened(mouse, http_base + "slow.html", TERM)
    link.hover()
    page.clock.run_for(250)
    assert page.locator(CARD).count() == 0
    page.mouse.move(2, 2)
    page.clock.run_for(2000)
    assert page.locator(CARD).count() == 0, "the pointer only passed"
    rest_on(page, link)
    expect(page.locator(CARD)).to_be_visible()


def test_a_pointer_can_go_onto_the_card(mouse: BrowserContext, http_base: str) -> None:
    page, link = opened(mouse, http_base + "slow.html", CITED)
    rest_on(page, link)
    page.locator(CARD).hover()
    page.clock.run_for(5000)
    expect(page.locator(CARD)).to_be_visible()
    page.mouse.move(2, 2)
    page.clock.run_for(1000)
    assert page.locator(CARD).count() == 0


def test_escape_closes_it_until_the_link_is_left(mouse: BrowserContext, http_base: str) -> None:
    page, link = opened(mouse, http_base + "slow.html", TERM)
    rest_on(page, link)
    page.keyboard.press("Escape")
    assert page.locator(CARD).count() == 0
    page.mouse.move(2, 2)
    page.clock.run_for(1000)
    rest_on(page, link)
    expect(page.locator(CARD)).to_be_visible()


def test_by_keyboard_it_comes_with_the_focus_and_goes_with_it(mouse: BrowserContext, http_base: str) -> None:
    page, link = opened(mouse, http_base + "slow.html", CITED)
    page.keyboard.press("Tab")
    link.focus()
    page.clock.run_for(400)
    expect(page.locator(CARD)).to_be_visible()
    assert link.get_attribute("aria-describedby") == CARD.removeprefix("#")
    page.mouse.move(700, 5)
    page.clock.run_for(1000)
    expect(page.locator(CARD)).to_be_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#dl-card') && document.activeElement.href")
    page.keyboard.press("Escape")
    page.clock.run_for(1000)
    assert page.locator(CARD).count() == 0
    assert link.evaluate("(link) => link === document.activeElement")
    page.keyboard.press("Tab")
    link.focus()
    page.clock.run_for(400)
    expect(page.locator(CARD)).to_be_visible()
    page.keyboard.press("Shift+Tab")
    page.clock.run_for(10)
    assert page.locator(CARD).count() == 0
    assert not link.get_attribute("aria-describedby")


def test_a_click_follows_the_link(mouse: BrowserContext, base: str) -> None:
    page, link = opened(mouse, base + "slow.html", TERM)
    rest_on(page, link)
    href = link.get_attribute("href")
    link.click()
    page.wait_for_url(f"**/{href}")


@LANGUAGES
def test_the_first_tap_shows_and_the_second_follows(finger: BrowserContext, base: str, language: Language) -> None:
    page, link = opened(finger, base + counterpart("slow.html", language), TERM)
    here, href = page.url, link.get_attribute("href")
    link.tap()
    expect(page.locator(CARD)).to_be_visible()
    assert page.url == here
    go = page.locator(f"{CARD} .dl-go")
    assert go.inner_text() == {"en": "Go there", "zh": "前往"}[language.code]
    box = go.bounding_box()
    assert box
    assert box["height"] >= 24
    link.tap()
    page.wait_for_url(f"**/{href}")


def test_the_link_on_the_card_leads_there_too(finger: BrowserContext, http_base: str) -> None:
    page, link = opened(finger, http_base + "parallel.html", EQUATION)
    href = link.get_attribute("href")
    link.tap()
    page.locator(f"{CARD} .dl-go").tap()
    page.wait_for_url(f"**{href}")
    assert page.locator(CARD).count() == 0
    expect(page.locator(str(href))).to_be_in_viewport()


def test_a_tap_beside_it_closes_it(finger: BrowserContext, http_base: str) -> None:
    page, link = opened(finger, http_base + "slow.html", TERM)
    link.tap()
    expect(page.locator(CARD)).to_be_visible()
    page.touchscreen.tap(5, 400)
    assert page.locator(CARD).count() == 0


def test_navigation_is_not_previewed(mouse: BrowserContext, http_base: str) -> None:
    """What is there to be clicked has no card: the tree of questions, links back, contents."""
    for name, selector in (("slow.html", ".dl-tree a"), ("glossary.html", ".dl-uses a"), ("async.html", ".dl-toc a")):
        page, link = opened(mouse, http_base + name, selector)
        rest_on(page, link)
        assert page.locator(CARD).count() == 0, selector


# --- where it stands ---

PLACED = """(link) => {
  const card = document.getElementById("dl-card");
  if (!card) return null;
  const box = card.getBoundingClientRect();
  const over = [...link.getClientRects()].filter((line) =>
    line.left < box.right && line.right > box.left && line.top < box.bottom && line.bottom > box.top);
  const {clientWidth: width} = document.documentElement;
  return {
    inside: box.left >= 0 && box.top >= 0 && box.right <= width && box.bottom <= innerHeight,
    over: over.length,
    fits: document.scrollingElement.scrollWidth <= innerWidth,
    seen: box.width * box.height > 1000,
  };
}"""
WHERE = "(link) => { const box = link.getBoundingClientRect(); return [box.x + scrollX, box.y + scrollY]; }"


@LANGUAGES
@SIZES
def test_it_covers_no_link_and_stays_in_the_window(
    browser: Browser, http_base: str, language: Language, size: Any
) -> None:
    """Wherever a link stands in the window; nothing moves, and no id stands twice."""
    context = browser.new_context(viewport=size)
    page, _ = opened(context, http_base + counterpart("parallel.html", language), TERM)
    page.keyboard.press("Tab")  # so that what gets the focus shows it
    links = page.locator(LINK)
    assert links.count() > 30
    for number, block in enumerate(["start", "center", "end"] * 4):
        link = links.nth(3 * number)
        link.evaluate("(link, block) => link.scrollIntoView({block})", block)
        before = link.evaluate(WHERE)
        link.focus()
        page.clock.run_for(400)
        placed = {"inside": True, "over": 0, "fits": True, "seen": True}
        assert link.evaluate(PLACED) == placed, link.inner_text()
        assert link.evaluate(WHERE) == before
        assert page.evaluate(TWICE) == []
    context.close()


SHIFT = """() => new Promise((done) => {
  let sum = 0;
  new PerformanceObserver((list) => { for (const entry of list.getEntries()) sum += entry.value; })
    .observe({type: "layout-shift", buffered: true});
  requestAnimationFrame(() => requestAnimationFrame(() => done(sum)));
})"""


def test_nothing_shifts(browser: Browser, http_base: str) -> None:
    context = browser.new_context(viewport=NARROW)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(http_base + "slow.html")
    page.evaluate("layOut()")  # or what we scroll to would be laid out only then
    before = page.evaluate(SHIFT)
    for link in page.locator(TERM).all()[:3]:
        link.hover()
        expect(page.locator(CARD)).to_be_visible()
    assert page.evaluate(SHIFT) == before
    context.close()


# --- for everybody ---


@LANGUAGES
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_card_breaks_no_rule(browser: Browser, http_base: str, language: Language, scheme: Any) -> None:
    context = browser.new_context(viewport=NARROW, has_touch=True, color_scheme=scheme)  # type: ignore[arg-type]
    name, page = counterpart("slow.html", language), context.new_page()
    page.goto(http_base + name)
    page.evaluate("layOut()")
    page.evaluate(OPEN_ALL)
    page.evaluate(AXE_SCRIPT)
    for selector in (TERM, CITED, SECTION):
        page.locator(selector).first.tap()
        expect(page.locator(CARD)).to_be_visible()
        found = page.evaluate(BROKEN, RULES)
        assert found == [], json.dumps(found, indent=1, ensure_ascii=False)
    context.close()


@LANGUAGES
def test_without_scripts_links_lead_where_they_lead(browser: Browser, file_base: str, language: Language) -> None:
    context = browser.new_context(viewport=NARROW, has_touch=True, java_script_enabled=False)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(file_base + counterpart("slow.html", language))
    link = page.locator(TERM).first
    href = link.get_attribute("href")
    link.tap()
    page.wait_for_url(f"**/{href}")
    context.close()


# --- what it costs ---


@LANGUAGES
def test_little_is_sent_for_it(site: Path, language: Language) -> None:
    folder = (site / counterpart("index.html", language)).parent
    script = (folder / "_static" / "previews.js").read_bytes()
    assert len(gzip.compress(script, 9)) <= SMALL["previews.js"]
    for path in folder.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        templates = re.findall(r"<template data-of=.*?</template>", text, re.S)
        assert len(gzip.compress("\n".join(templates).encode(), 9)) <= SMALL["templates"], path.name
        assert ("previews.js" in text) == bool(templates), path.name
