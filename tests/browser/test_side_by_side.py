"""Both languages of a page: the same blocks, the same place after a switch, and each block beside its twin."""

from __future__ import annotations

import functools
import gzip
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, BrowserContext, Page, expect

from booktools.numbering import Shown, blocks
from tests.browser.conftest import counterpart, language_of, pages, site_folder
from tests.browser.test_accessibility import BROKEN, NOT_COLOUR, OF_COLOUR, REVEAL
from tests.browser.test_site import FIRST, NAMES, NARROW, OTHERS, WALKER, WIDE, links, longest, switch

ALIGNED = [page for page in pages() if page.rpartition("/")[2] not in ("search.html", "404.html")]
EXAMPLES = ["async.html", "slow.html", "glossary.html", "index.html"]
IN_BOTH = [page for name in EXAMPLES for page in (name, *(counterpart(name, other) for other in OTHERS))]
SAME = {"dl-choose", "math", "toctree-wrapper", "dl-begin", "dl-download", "dl-table-box", "cell"}
"""Classes of blocks that have no twin, for there is nothing in them to read but what is the same in every language,
or is measured; so do code, whose class begins with `highlight`, summaries, and containers without a name."""


@functools.cache
def article(page: str) -> str:
    text = (site_folder() / page).read_text(encoding="utf-8")
    return text[text.index("<article>") + len("<article>") : text.rindex("</article>")]


@functools.cache
def twins(page: str) -> dict[str, str]:
    """Returns the twins of a page by the names of its blocks."""
    folder, _, name = page.rpartition("/")
    path = site_folder() / folder / "_static" / "twins" / name.replace(".html", ".js")
    return json.loads(path.read_text(encoding="utf-8").removeprefix("window.DL_TWINS=").rstrip().removesuffix(";"))


def inside(page: str, block: Shown) -> list[str]:
    """Returns the tags by which a block is laid out, itself included."""
    html = re.sub(r"<svg\b.*?</svg>", "", article(page)[block.start : block.end], flags=re.S)
    return re.findall(
        r"<(p|ul|ol|li|dl|dt|dd|table|tr|t[hd]|h[1-4]|figure|figcaption|pre|details|summary|section)\b", html
    )


# --- the same blocks ---


@pytest.mark.parametrize("page", [page for page in ALIGNED if language_of(page) == FIRST])
@pytest.mark.parametrize("other", OTHERS, ids=lambda language: language.code)
def test_languages_have_the_same_blocks(page: str, other: Any) -> None:
    theirs = counterpart(page, other)
    left, right = blocks(article(page)), blocks(article(theirs))
    assert [(block.name, block.kind) for block in left] == [(block.name, block.kind) for block in right]
    for ours, its in zip(left, right, strict=True):
        assert inside(page, ours) == inside(theirs, its), ours.name


@pytest.mark.parametrize("page", ALIGNED)
def test_blocks_carry_their_numbers(page: str) -> None:
    found = blocks(article(page))
    numbers = [block.name.rpartition(".")[2] for block in found]
    written = re.findall(r'<\w+ data-block="(\d+)"', article(page))
    assert written == numbers
    assert len({block.name for block in found}) == len(found) > 0


@pytest.mark.parametrize("page", ALIGNED)
def test_what_has_no_twin_is_the_same_in_both(page: str) -> None:
    for block in blocks(article(page)):
        if block.name not in twins(page):
            names = set(block.classes) - {"docutils", "container"}
            assert block.tag == "summary" or not names or names & SAME or block.classes[0].startswith("highlight"), (
                block
            )


@pytest.mark.parametrize("page", ALIGNED)
def test_links_of_twins_lead_somewhere(page: str) -> None:
    own, broken = links(site_folder() / page).ids, []
    for html in twins(page).values():
        assert not re.search(r' id="', html)
        for target in re.findall(r' (?:href|src)="([^"]+)"', html):
            parts = urlsplit(urljoin(page, target))
            if parts.scheme or not parts.path:
                continue
            path, anchor = site_folder() / unquote(parts.path), unquote(parts.fragment)
            ids = own if target.startswith("#") else links(path).ids if path.suffix == ".html" else {anchor}
            if not path.is_file() or (anchor and anchor not in ids):
                broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", ALIGNED)
def test_a_page_hardly_grows(page: str) -> None:
    """What numbers and the button add to a page, and what a reader of both languages loads besides, compressed."""
    text = (site_folder() / page).read_text(encoding="utf-8")
    bare = re.sub(r' data-block="\d+"|<button type="button" class="dl-both".*?</button>', "", text, flags=re.S)
    size = lambda text: len(gzip.compress(text.encode(), 9))
    assert bare != text
    assert size(text) - size(bare) < 2048
    assert size(json.dumps(twins(page), ensure_ascii=False)) < 40_000


# --- the same place ---

PLACE = """() => {
  const line = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) - 1;
  const name = (block) => block.closest("section[id]").id + "." + block.dataset.block;
  const shown = [...document.querySelectorAll("[data-block]")]
    .filter((block) => block.checkVisibility({contentVisibilityAuto: true}))
    .map((block) => [block, block.getBoundingClientRect()]);
  const begun = shown.find(([, box]) => box.top >= line && box.top < innerHeight * 0.8);
  const across = shown.filter(([, box]) => box.top < line && box.bottom > line).pop();
  return {begun: begun && [name(begun[0]), begun[1].top], across: across && name(across[0]), y: scrollY};
}"""
TOP = """(name) => [...document.querySelectorAll("[data-block]")]
  .find((block) => block.closest("section[id]").id + "." + block.dataset.block === name).getBoundingClientRect()"""


def scroll(page: Page, share: float) -> None:
    """Scrolls to a share of the page's height, which lies in the middle of whatever stands there."""
    page.evaluate("(share) => scrollTo(0, share * (document.scrollingElement.scrollHeight - innerHeight))", share)


def cross(page: Page, language: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Switches to a language; returns where the reader was, and where that block is now."""
    before = page.evaluate(PLACE)
    switch(page, language.html)
    name = before["begun"][0] if before["begun"] else before["across"]
    return before, page.evaluate(TOP, name)


@pytest.mark.parametrize("other", OTHERS, ids=lambda language: language.code)
@pytest.mark.parametrize("width", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize(("name", "way"), [(longest(), "file"), ("glossary.html", "http")])
def test_a_switch_keeps_the_block_at_its_height(
    browser: Browser, request: pytest.FixtureRequest, name: str, way: str, width: dict[str, int], other: Any
) -> None:
    base = request.getfixturevalue(f"{way}_base")
    context = browser.new_context(viewport=width, locale=FIRST.html)  # type: ignore[arg-type]
    page = context.new_page()
    for start, there in ((FIRST, other), (other, FIRST)):
        for share in (0.07, 0.31, 0.83):
            page.goto("about:blank")
            page.goto(base + counterpart(name, start))
            scroll(page, share)
            before, box = cross(page, there)
            if before["begun"]:
                assert box["top"] == pytest.approx(before["begun"][1], abs=3), (start.code, share, before)
            else:
                assert box["top"] < width["height"] / 2 < box["bottom"], (start.code, share, before)
            assert "~" not in page.url
            switch(page, start.html)
            assert page.evaluate("scrollY") == pytest.approx(before["y"], abs=3), (start.code, share)
    context.close()


def test_a_switch_opens_the_solution_in_which_one_reads(browser: Browser, file_base: str) -> None:
    context = browser.new_context(viewport=WIDE, locale=FIRST.html)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(file_base + longest())
    page.evaluate("document.querySelectorAll('details.dl-solution')[2].open = true")
    paragraph = page.locator("details.dl-solution[open] > section > p").first
    paragraph.evaluate("(block) => scrollBy({top: block.getBoundingClientRect().top - 300, behavior: 'instant'})")
    for there in (*OTHERS, FIRST):
        switch(page, there.html)
        assert page.locator("details.dl-solution[open]").count() == 1
        assert paragraph.evaluate("(block) => block.getBoundingClientRect().top") == pytest.approx(300, abs=3)
    context.close()


def test_a_place_that_is_no_more_is_its_heading(browser: Browser, http_base: str) -> None:
    """An address from another version of the book: of its block nothing is known, of its section it is."""
    context = browser.new_context(viewport=WIDE, locale=FIRST.html)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(f"{http_base}async.html#async-costs~async-costs.999~120.0~0.0000")
    assert page.url == f"{http_base}async.html#async-costs"
    assert 0 <= page.locator("#async-costs > h2").evaluate("(h) => h.getBoundingClientRect().top") < 200
    context.close()


# --- side by side ---


def open_both(page: Page, address: str) -> None:
    """Opens a page and asks for both languages."""
    page.goto(address)
    page.locator(".dl-both").click()
    expect(page.locator("html[data-both]")).to_be_attached()


ROWS = """() => [...document.querySelectorAll(".dl-twin:not(.dl-across)")].map((twin) => {
  const own = twin.previousElementSibling, [a, b] = [own.getBoundingClientRect(), twin.getBoundingClientRect()];
  return {own: own.matches(".dl-own") && (own.tagName === twin.tagName || own.tagName === "FIGCAPTION"),
          lang: twin.lang, apart: b.left - a.right, level: Math.abs(a.top - b.top), height: b.height};
})"""


@pytest.mark.parametrize("page", IN_BOTH)
def test_twins_stand_beside_their_blocks(context: BrowserContext, base: str, page: str) -> None:
    tab = context.new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    open_both(tab, base + page)
    tab.evaluate(REVEAL)
    there = FIRST if language_of(page) != FIRST else OTHERS[0]
    rows = tab.evaluate(ROWS)
    assert len(rows) + tab.locator(".dl-across").count() == len(twins(page)) > 5
    for row in rows:
        assert row["own"]
        assert row["lang"] == there.html
        assert row["apart"] >= 16
        assert row["level"] <= 8
        assert row["height"] > 0
    assert errors == []
    assert tab.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
    assert (
        tab.evaluate("(all => all.length - new Set(all).size)([...document.querySelectorAll('[id]')].map((e) => e.id))")
        == 0
    )
    assert tab.evaluate(WALKER, NAMES) == [] if language_of(page).code == "zh" else True


@pytest.mark.parametrize("width", [1000, 1247, 1248])
def test_columns_begin_at_a_thousand_pixels(browser: Browser, file_base: str, width: int) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, locale=FIRST.html)
    page = context.new_page()
    open_both(page, file_base + longest())
    row = page.locator("p.dl-own").first.bounding_box()
    assert row
    assert row["width"] > 280
    assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
    page.set_viewport_size({"width": 999, "height": 900})
    expect(page.locator("p.dl-twin").first).to_be_hidden()
    context.close()


def test_hovering_marks_the_twin(context: BrowserContext, http_base: str) -> None:
    page = context.new_page()
    open_both(page, http_base + longest())
    own, twin = page.locator("p.dl-own").first, page.locator("p.dl-own + .dl-twin").first
    ground = "(element) => getComputedStyle(element).backgroundColor"
    page.mouse.move(0, 0)
    before = twin.evaluate(ground)
    own.hover()
    assert twin.evaluate(ground) == own.evaluate(ground) != before
    twin.hover()
    assert own.evaluate(ground) == twin.evaluate(ground) != before


def test_both_keep_the_place_and_are_remembered(context: BrowserContext, http_base: str) -> None:
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(http_base + longest())
    assert not any("twins" in url or "both.js" in url for url in asked), "only who asks for both languages loads them"
    scroll(page, 0.4)
    before = page.evaluate(PLACE)
    page.locator(".dl-both").click()
    expect(page.locator("html[data-both]")).to_be_attached()
    assert page.evaluate(TOP, before["begun"][0])["top"] == pytest.approx(before["begun"][1], abs=3)
    before, box = cross(page, OTHERS[0])
    expect(page.locator("html[data-both]")).to_be_attached()
    box = page.evaluate(TOP, before["begun"][0])
    assert box["top"] == pytest.approx(before["begun"][1], abs=3)
    expect(page.locator(".dl-both")).to_have_attribute("aria-pressed", "true")
    page.locator(".dl-both").click()
    expect(page.locator(".dl-twin:visible")).to_have_count(0)
    assert page.evaluate(TOP, before["begun"][0])["top"] == pytest.approx(before["begun"][1], abs=3)
    page.goto(http_base + "async.html")
    expect(page.locator(".dl-both")).to_have_attribute("aria-pressed", "false")
    assert page.locator(".dl-twin").count() == 0


# --- in a narrow window ---


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=NARROW, has_touch=True, is_mobile=True, locale=FIRST.html)  # type: ignore[arg-type]
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", [longest(), counterpart(longest(), OTHERS[0])])
def test_a_tap_shows_the_twin_beneath(phone: Page, base: str, name: str) -> None:
    open_both(phone, base + name)
    expect(phone.locator(".dl-how")).to_be_visible()
    own, twin = phone.locator("p.dl-own").first, phone.locator("p.dl-own + .dl-twin").first
    expect(twin).to_be_hidden()
    own.tap(position={"x": 4, "y": 8})
    expect(twin).to_be_visible()
    expect(phone.locator(".dl-how")).to_be_hidden()
    assert phone.locator(".dl-twin.dl-shown").count() == 1
    above, below = own.bounding_box(), twin.bounding_box()
    assert above
    assert below
    assert 0 <= below["y"] - above["y"] - above["height"] < 40
    assert phone.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
    own.tap(position={"x": 4, "y": 8})
    expect(twin).to_be_hidden()
    for kind in ("h2", "figcaption", "li", ".dl-claim", ".exercise"):
        block = phone.locator(f"{kind}.dl-own").first
        if block.count():
            block.scroll_into_view_if_needed()
            block.evaluate("(element) => element.click()")
            expect(block.locator("xpath=following-sibling::*[1]")).to_be_visible()
    phone.keyboard.press("Escape")
    assert phone.locator(".dl-twin.dl-shown").count() == 0


def test_a_link_in_a_paragraph_is_still_a_link(phone: Page, http_base: str) -> None:
    open_both(phone, http_base + longest())
    link = phone.locator("p.dl-own a.reference.internal").first
    target = link.evaluate("(link) => link.href")
    link.tap()
    expect(phone.locator("#dl-card")).to_be_visible()  # the first tap shows where it leads
    link.tap()
    phone.wait_for_url(target)


def test_twins_are_reached_by_keyboard(browser: Browser, http_base: str) -> None:
    context = browser.new_context(viewport=NARROW, locale=FIRST.html)  # type: ignore[arg-type]
    page = context.new_page()
    open_both(page, http_base + longest())
    button = page.locator("p.dl-own .dl-unfold").first
    page.locator("p.dl-own").first.evaluate("(own) => own.scrollIntoView()")
    button.focus()
    box = button.bounding_box()
    assert box
    assert min(box["width"], box["height"]) >= 24, "seen while it has the focus"
    page.keyboard.press("Enter")
    expect(page.locator("p.dl-own + .dl-twin").first).to_be_visible()
    expect(button).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")
    expect(page.locator("p.dl-own + .dl-twin").first).to_be_hidden()
    expect(button).to_have_attribute("aria-expanded", "false")
    context.close()


def test_a_guess_shows_what_was_measured_in_both_languages(browser: Browser, http_base: str) -> None:
    context = browser.new_context(viewport=WIDE, locale=FIRST.html)  # type: ignore[arg-type]
    page = context.new_page()
    open_both(page, http_base + "async.html")
    page.locator("button.dl-show").first.click()
    expect(page.locator(".dl-predicted").first).not_to_have_attribute("hidden", "until-found")
    expect(page.locator(".dl-predicted .dl-twin").first).to_be_visible()
    context.close()


# --- for everybody ---


def all_shown(browser: Browser, address: str, size: dict[str, int], scheme: Any) -> Page:
    """Opens a page with both languages, nothing of it hidden, and loads axe."""
    context = browser.new_context(viewport=size, color_scheme=scheme, locale=FIRST.html)  # type: ignore[arg-type]
    tab = context.new_page()
    open_both(tab, address)
    tab.evaluate(REVEAL)
    tab.evaluate("for (const twin of document.querySelectorAll('.dl-twin')) twin.classList.add('dl-shown')")
    tab.evaluate(AXE_SCRIPT)
    return tab


@pytest.mark.parametrize("page", IN_BOTH)
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_both_break_no_rule(browser: Browser, http_base: str, page: str, size: dict[str, int]) -> None:
    tab = all_shown(browser, http_base + page, size, "light")
    assert tab.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
    assert tab.evaluate(BROKEN, NOT_COLOUR) == []
    tab.context.close()


@pytest.mark.parametrize("page", [longest(), counterpart("glossary.html", OTHERS[0])])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_twins_stand_out(browser: Browser, http_base: str, page: str, scheme: str) -> None:
    """The contrast of colours in twins; that of everything else is the page's own."""
    tab = all_shown(browser, http_base + page, WIDE, scheme)
    assert tab.evaluate(BROKEN.replace("document", "'.dl-twin'"), OF_COLOUR) == []
    tab.context.close()


@pytest.mark.parametrize("width", [WIDE, NARROW], ids=["wide", "narrow"])
def test_both_are_printed(browser: Browser, http_base: str, width: dict[str, int]) -> None:
    context = browser.new_context(viewport=width, locale=FIRST.html)  # type: ignore[arg-type]
    page = context.new_page()
    open_both(page, http_base + longest())
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 720, "height": 1000})
    rows = [row for row in page.evaluate(ROWS) if row["height"]]
    assert len(rows) > 50
    assert all(row["apart"] > 0 for row in rows)
    context.close()


def test_without_scripts_there_is_no_button(scriptless: Page, http_base: str) -> None:
    scriptless.goto(http_base + longest())
    expect(scriptless.locator(".dl-both")).to_be_hidden()
