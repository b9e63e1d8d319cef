"""On a phone, sections far below are laid out when they come near: nothing is to be noticed of it but the speed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import FIRST, NARROW, WIDE, pages
from tests.browser.test_site import longest

WAITING = """() => [...document.querySelectorAll("article section section > h2")]
  .filter((heading) => !heading.checkVisibility({ contentVisibilityAuto: true })).length"""
"""How many sections of the page are not laid out."""
TOP = "(element) => element.getBoundingClientRect().top"


@pytest.fixture
def phone(browser: Browser) -> Iterator[Page]:
    """A page in a narrow window that can be touched."""
    context = browser.new_context(viewport=NARROW, locale=FIRST.html, has_touch=True)  # type: ignore[arg-type]
    yield context.new_page()
    context.close()


def test_sections_wait_on_a_phone(phone: Page, base: str) -> None:
    phone.goto(base + longest())
    assert phone.evaluate(WAITING) > 5
    before = phone.evaluate("document.querySelectorAll('article section section > h2').length")
    phone.reload()
    assert phone.evaluate(WAITING) == 0 < before


def test_none_wait_on_a_wide_screen_where_notes_stand_beside_them(context: BrowserContext, base: str) -> None:
    page = context.new_page()
    page.goto(base + longest())
    assert page.evaluate(WAITING) == 0


def test_none_wait_without_scripts(scriptless: Page, base: str) -> None:
    scriptless.set_viewport_size(NARROW)  # type: ignore[arg-type]
    scriptless.goto(base + longest())
    expect(scriptless.locator("html:not([data-lazy])")).to_be_attached()


def test_none_wait_on_paper(phone: Page, base: str) -> None:
    phone.goto(base + longest())
    phone.emulate_media(media="print")
    assert phone.evaluate(WAITING) == 0


@pytest.mark.parametrize("which", ["middle", "last but one"])
def test_a_link_within_the_page_leads_to_its_section(phone: Page, base: str, which: str) -> None:
    phone.goto(base + longest())
    phone.locator(".dl-here summary").click()
    links = phone.locator(".dl-here a")
    link = links.nth(links.count() // 2 if which == "middle" else links.count() - 2)
    target = (link.get_attribute("href") or "").removeprefix("#")
    link.click()
    heading = phone.locator(f"[id='{target}'] > :is(h2, h3)").first
    expect(heading).to_be_in_viewport()
    assert 0 <= heading.evaluate(TOP) < 200


def test_an_address_typed_leads_to_its_section(phone: Page, base: str) -> None:
    phone.goto(base + longest())
    target = phone.evaluate("[...document.querySelectorAll('article section section[id]')].at(-8).id")
    phone.evaluate("(id) => { location.hash = id; }", target)
    heading = phone.locator(f"[id='{target}'] > :is(h2, h3)").first
    expect(heading).to_be_in_viewport()
    phone.wait_for_timeout(300)  # in which what stands above may be laid out
    assert 0 <= heading.evaluate(TOP) < 200


@pytest.mark.parametrize("by", ["wheel", "jump"])
def test_whoever_comes_back_finds_the_same_words(phone: Page, base: str, by: str) -> None:
    phone.goto(base + longest())
    if by == "wheel":
        for _ in range(60):
            phone.mouse.wheel(0, 400)
            phone.wait_for_timeout(16)
    else:
        phone.evaluate("scrollTo(0, document.documentElement.scrollHeight / 2)")
    phone.wait_for_timeout(300)
    seen = phone.evaluate(
        """() => { const block = [...document.querySelectorAll("article section > p[data-block]")]
             .find((each) => each.getBoundingClientRect().top > 80);
           return [block.closest("section[id]").id, block.dataset.block, block.getBoundingClientRect().top]; }"""
    )
    other = next(page for page in pages() if page.startswith("glossary"))
    phone.goto(base + other)
    phone.go_back()
    phone.wait_for_timeout(500)
    section, block, top = seen
    again = phone.locator(f"[id='{section}'] > [data-block='{block}']").first
    assert abs(again.evaluate(TOP) - top) < 60


def test_the_browser_finds_words_far_below(phone: Page, base: str) -> None:
    phone.goto(base + longest())
    assert phone.evaluate(WAITING) > 5
    words = phone.evaluate(
        """() => [...document.querySelectorAll("article section section:last-of-type > p")]
          .filter((text) => !text.closest("details"))
          .map((text) => text.firstChild.textContent).find((text) => text.length > 40).slice(0, 40)"""
    )
    assert phone.evaluate("(words) => find(words)", words)
    phone.wait_for_timeout(300)
    assert phone.evaluate("scrollY") > WIDE["height"]
