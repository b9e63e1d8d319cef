"""The tree of questions on *Why is my training slow?*: every leaf is reached, in each language, and leads on."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from booktools.source.book import Language
from tests.browser.conftest import NARROW, WIDE, NewContext, counterpart, languages
from tests.browser.links import links

TREE = ".dl-tree"
WHEN = ["#slow-first", "#slow-border", "#slow-nth", "#slow-later", "#slow-busy"]
KNOWN = ["#slow-switched", "#slow-grows", "#slow-number"]
RANKS = ["#slow-ranks", "#slow-link", "#slow-still"]
ALWAYS = ["#slow-data", "#slow-host", "#slow-threads", "#slow-copies", "#slow-compiler"]
ALWAYS += ["#slow-memory", "#slow-compute", "#slow-waste", "#slow-type", "#slow-shape", "#slow-cache"]
LEAVES = [*WHEN, *KNOWN, *RANKS, *ALWAYS]
TOGETHER = {"#slow-ranks": "#slow-processes", "#slow-link": "#slow-processes"}
"""The leaves that read what one command printed, and the section that has it."""
IN_VIEW = """(id) => {
  const box = document.querySelector(`${id} > :is(h2, h3)`).getBoundingClientRect();
  return box.top >= 0 && box.bottom <= innerHeight;
}"""


@pytest.fixture(params=languages(), ids=lambda language: language.code)
def path(request: pytest.FixtureRequest) -> str:
    """The page in each language, relative to the site."""
    language: Language = request.param
    return counterpart("slow.html", language)


@pytest.fixture
def page(tab: Page, http_base: str, path: str) -> Page:
    """The page, opened on a wide screen."""
    tab.goto(http_base + path)
    return tab


def targets(page: Page, links_of: str = f"{TREE} a") -> list[str]:
    found: list[str] = page.eval_on_selector_all(links_of, "(all) => all.map((a) => a.getAttribute('href'))")
    return found


def expect_at(page: Page, target: str) -> None:
    """Waits until the page's address ends in ``target``, and the heading of that section is in view."""
    page.wait_for_function("(target) => location.hash === target", arg=target)
    page.wait_for_function(IN_VIEW, arg=target)


def test_each_leaf_has_a_command_its_output_and_a_way_on(page: Page, site: Path, http_base: str) -> None:
    assert targets(page, f"{TREE} li:not(:has(ul)) a") == LEAVES
    assert targets(page)[0] == "#slow-when"
    lacking = []
    for leaf in LEAVES:
        section = page.locator(TOGETHER.get(leaf, leaf))
        if not section.locator(".cell_input:not(details *) pre").count():
            lacking.append(f"{leaf} shows no command")
        if not section.locator(".cell_output pre").count():
            lacking.append(f"{leaf} shows nothing that one printed")
        ways = page.eval_on_selector_all(
            f"{leaf} p a[href*='.html#']:not([href*='references.html'])", "(all) => all.map((a) => a.href)"
        )
        if not ways and not section.locator(".dl-soon").count():
            lacking.append(f"{leaf} leads nowhere")
        for way in dict.fromkeys(ways):
            there, _, anchor = way.removeprefix(http_base).partition("#")
            if not (site / there).is_file() or anchor not in links(site / there).ids:
                lacking.append(f"{leaf} leads to {way}, which is not there")
    assert lacking == []


def test_a_click_leads_to_every_section(page: Page) -> None:
    for target in targets(page):
        page.locator(f'{TREE} a[href="{target}"]').click()
        expect_at(page, target)


def test_so_do_tab_and_enter(page: Page) -> None:
    """Each link is the next after the one before, so that Tab alone goes through a tree from the heading above it."""
    for number, heading in enumerate(("h1", "#slow-busy > h2")):
        before = page.locator(f"{heading} a.headerlink")
        tree = page.locator(TREE).nth(number)
        for link in tree.locator("a").all():
            target = link.get_attribute("href")
            before.focus()
            page.keyboard.press("Tab")
            focused = page.locator(":focus")
            expect(focused).to_have_attribute("href", str(target))
            expect(focused).to_have_css("outline-style", "solid")
            page.keyboard.press("Enter")
            expect_at(page, str(target))
            before = link


def test_without_scripts_too(new_context: NewContext, http_base: str, path: str) -> None:
    tab = new_context(java_script_enabled=False).new_page()
    tab.goto(http_base + path)
    tab.locator(f'{TREE} a[href="#slow-cache"]').click()
    expect(tab).to_have_url(f"{http_base}{path}#slow-cache")


def test_the_tree_fits(page: Page) -> None:
    """On a wide screen it is seen whole as the page opens; on a narrow one no link is too small or cut off."""
    for width in (WIDE, NARROW):
        page.set_viewport_size(width)  # type: ignore[arg-type]
        page.evaluate("scrollTo(0, 0)")
        boxes = page.eval_on_selector_all(
            f"{TREE}, {TREE} a", "(all) => all.map((each) => each.getBoundingClientRect().toJSON())"
        )
        assert all(box["left"] >= 0 and box["right"] <= width["width"] for box in boxes), width
        assert all(box["height"] >= 24 for box in boxes), width
        if width == WIDE:
            assert boxes[0]["bottom"] <= width["height"]
