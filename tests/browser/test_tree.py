"""The tree of questions on *Why is my training slow?*: every leaf is reached, in each language, and leads on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from booktools.book import Language
from tests.browser.conftest import counterpart, languages
from tests.browser.test_site import NARROW, WIDE, links

TREE = ".dl-tree"
LEAVES = ["#slow-data", "#slow-host", "#slow-copies", "#slow-compiler", "#slow-ranks"]
LEAVES += ["#slow-memory", "#slow-compute", "#slow-type", "#slow-shape", "#slow-cache"]
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
def page(browser: Browser, http_base: str, path: str) -> Iterator[Page]:
    """The page, opened on a wide screen."""
    context = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
    tab = context.new_page()
    tab.goto(http_base + path)
    yield tab
    context.close()


def targets(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all(f"{TREE} a", "(all) => all.map((a) => a.getAttribute('href'))")
    return found


def test_the_tree_has_all_leaves(page: Page) -> None:
    leaves = page.eval_on_selector_all(f"{TREE} li:not(:has(ul)) a", "(all) => all.map((a) => a.getAttribute('href'))")
    assert leaves == LEAVES
    assert targets(page)[0] == "#slow-busy"


def test_a_click_leads_to_every_section(page: Page) -> None:
    for target in targets(page):
        page.locator(f'{TREE} a[href="{target}"]').click()
        assert page.url.endswith(target)
        assert page.evaluate(IN_VIEW, target), target


def test_so_do_tab_and_enter(page: Page, path: str, http_base: str) -> None:
    for number, target in enumerate(targets(page)):
        page.goto(f"{http_base}{path}?{number}")  # anew, so that nothing has the focus
        page.locator("h1 a.headerlink").focus()
        for _ in range(number + 1):
            page.keyboard.press("Tab")
        focused = page.locator(":focus")
        assert focused.get_attribute("href") == target
        assert focused.evaluate("(a) => getComputedStyle(a).outlineStyle") == "solid", "the focus is not seen"
        page.keyboard.press("Enter")
        assert page.url.endswith(target)
        assert page.evaluate(IN_VIEW, target), target


def test_without_scripts_too(browser: Browser, http_base: str, path: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    tab = context.new_page()
    tab.goto(http_base + path)
    tab.locator(f'{TREE} a[href="#slow-cache"]').click()
    assert tab.url.endswith("#slow-cache")
    context.close()


@pytest.mark.parametrize("leaf", ["#slow-busy", *LEAVES])
def test_a_leaf_has_a_command_its_output_and_a_way_on(page: Page, leaf: str) -> None:
    section = page.locator(leaf)
    assert section.locator(".cell_input:not(details *) pre").count() >= 1, "a command that is shown"
    assert section.locator(".cell_output pre").count() >= 1, "what it printed"
    assert section.locator("p a[href*='.html#']").count() + section.locator(".dl-soon").count() >= 1, "a way on"


@pytest.mark.parametrize("leaf", ["#slow-busy", *LEAVES])
def test_its_links_are_followed_to_a_section(page: Page, site: Path, http_base: str, path: str, leaf: str) -> None:
    ways = page.eval_on_selector_all(
        f"{leaf} p a[href*='.html#']:not([href*='references.html'])", "(all) => all.map((a) => a.href)"
    )
    for way in dict.fromkeys(ways):
        assert page.request.get(way).status == 200, way
        there, _, anchor = way.removeprefix(http_base).partition("#")
        assert anchor in links(site / there).ids, way
    assert ways or page.locator(f"{leaf} .dl-soon").count(), "nothing was followed"


@pytest.mark.parametrize("width", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_tree_fits(page: Page, width: dict[str, int]) -> None:
    """On a wide screen it is seen whole as the page opens; on a narrow one no link is too small or cut off."""
    page.set_viewport_size(width)  # type: ignore[arg-type]
    page.evaluate("scrollTo(0, 0)")
    boxes = page.eval_on_selector_all(
        f"{TREE}, {TREE} a", "(all) => all.map((each) => each.getBoundingClientRect().toJSON())"
    )
    assert all(box["left"] >= 0 and box["right"] <= width["width"] for box in boxes)
    assert all(box["height"] >= 24 for box in boxes)
    if width == WIDE:
        assert boxes[0]["bottom"] <= width["height"]
