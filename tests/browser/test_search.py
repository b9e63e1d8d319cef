"""Searching: what queries find, what the list under the box does, and what it costs to load."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from booktools.book import Language
from tests.browser.conftest import ROOT, counterpart, languages
from tests.browser.queries import FOUND, MISSPELT, NOTHING
from tests.browser.test_site import NARROW, WIDE, links

INDEX_KB = 200
"""What the texts and terms of a language may weigh, compressed."""
TOP = """(query) => find(query).found.slice(0, 3).flatMap(({ page, anchor, title }) =>
  [`${page}.html#${anchor}`, ...(page === "glossary" ? [`术语：${title}`] : [])])"""


@pytest.fixture
def reader(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=WIDE, locale=languages()[0].html)  # type: ignore[arg-type]
    yield context
    context.close()


def address(language: Language, page: str) -> str:
    return counterpart(page, language)


def searching(context: BrowserContext, url: str) -> Page:
    """Returns the search page once it can search."""
    page = context.new_page()
    page.goto(f"{url}?q=GPU")
    expect(page.locator("#dl-results li").first).to_be_visible()
    return page


def missed(page: Page, queries: list[tuple[str, str]]) -> dict[str, Any]:
    found = {query: page.evaluate(TOP, query) for query, _ in queries}
    return {query: found[query] for query, wanted in queries if not set(wanted.split()) & set(found[query])}


# --- what queries find ---


@pytest.mark.parametrize("language", languages(), ids=lambda each: each.code)
def test_queries_lead_where_they_should(reader: BrowserContext, base: str, language: Language) -> None:
    queries, misspelt, nothing = FOUND[language.code], MISSPELT[language.code], NOTHING[language.code]
    assert len(queries) >= 40
    assert min(len(misspelt), len(nothing)) >= 10
    page = searching(reader, base + address(language, "search.html"))
    misses = missed(page, queries)
    assert len(misses) <= 0.05 * len(queries), misses
    assert missed(page, misspelt) == {}
    counts = {query: page.evaluate("(query) => find(query).found.length", query) for query in nothing}
    assert {query: count for query, count in counts.items() if count} == {}


@pytest.mark.parametrize("language", languages(), ids=lambda each: each.code)
def test_expected_sections_are_sections(site: Path, language: Language) -> None:
    """A query whose section is gone would otherwise count as a miss that nobody can mend."""
    wanted = {each for _, where in FOUND[language.code] + MISSPELT[language.code] for each in where.split()}
    terms = {title for page, _, title, *_ in sections(site, language) if page == "glossary"}
    for each in sorted(wanted):
        if each.startswith("术语："):
            assert each.removeprefix("术语：") in terms
        else:
            path, _, anchor = each.partition("#")
            assert anchor in links(site / address(language, path)).ids, each


def test_a_typo_is_forgiven_and_said(reader: BrowserContext, http_base: str) -> None:
    page = searching(reader, http_base + "search.html")
    exact = page.locator("#dl-found").inner_text()
    page.goto(http_base + "search.html?q=laetncy")
    expect(page.locator("#dl-results mark").first).to_have_text(re.compile("latency", re.I))
    assert page.locator("#dl-found").inner_text().split("“")[0] != exact.split("“")[0]


def test_excerpts_are_prose(site: Path) -> None:
    keys = re.findall(r"^@\w+\{([^,]+),", (ROOT / "chapters" / "references.bib").read_text(encoding="utf-8"), re.M)
    keys = [key for key in keys if re.search(r"\d{4}$", key)]  # others may be words of the text: bfloat16, fibre
    assert len(keys) > 20
    for language in languages():
        for page, anchor, _, text, _ in sections(site, language):
            assert [key for key in keys if key in text] == [], f"{page}#{anchor} quotes a citation's key"
            assert not re.search(r'"""|\bdef \w+\(|[\ue000\ue001]', text), f"{page}#{anchor} quotes source"


# --- what it costs ---


def sections(site: Path, language: Language) -> list[list[str]]:
    text = (site / address(language, "index.html")).parent.joinpath("_static", "texts.js").read_text(encoding="utf-8")
    return json.loads(text.removeprefix("window.DL_TEXTS=").rstrip().removesuffix(";"))


@pytest.mark.parametrize("language", languages(), ids=lambda each: each.code)
def test_the_index_is_small(site: Path, language: Language) -> None:
    static = (site / address(language, "index.html")).parent / "_static"
    size = sum(len(gzip.compress((static / name).read_bytes(), 9)) for name in ("texts.js", "terms.js"))
    assert size <= INDEX_KB * 1000


def test_nothing_of_it_is_loaded_before_the_box_is_entered(reader: BrowserContext, base: str) -> None:
    page = reader.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(base + "index.html")
    assert [url for url in asked if re.search(r"texts|terms|minisearch|find|search", url.removeprefix(base))] == []
    page.locator("#dl-nav input").focus()
    page.wait_for_function("!!(window.DL_TEXTS && window.DL_TERMS && window.MiniSearch)")


# --- the list under the box ---


def typed(page: Page, query: str) -> None:
    page.keyboard.press("/")
    page.keyboard.type(query)
    expect(page.locator(".dl-instant a").first).to_be_visible()


@pytest.mark.parametrize("language", languages(), ids=lambda each: each.code)
def test_arrows_and_enter_follow_a_result(reader: BrowserContext, base: str, language: Language) -> None:
    page = reader.new_page()
    page.goto(base + address(language, "measuring.html"))
    typed(page, "pinned memory")
    box, options = page.locator("#dl-nav input"), page.locator(".dl-instant [role=option]")
    assert 1 < options.count() <= 8
    expect(box).to_have_attribute("aria-expanded", "true")
    assert box.get_attribute("aria-activedescendant") is None
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    expect(box).to_have_attribute("aria-activedescendant", options.first.get_attribute("id") or "")
    expect(options.first).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    page.wait_for_url("**/glossary.html#term-*")
    assert page.url.startswith(base)


def test_arrows_go_round_and_back_to_the_box(reader: BrowserContext, http_base: str) -> None:
    page = reader.new_page()
    page.goto(http_base + "index.html")
    typed(page, "latency")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".dl-instant [role=option]").last).to_have_attribute("aria-selected", "true")
    page.keyboard.press("ArrowDown")
    assert page.locator("#dl-nav input").get_attribute("aria-activedescendant") is None
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=latency")


def test_escape_and_leaving_close_the_list(reader: BrowserContext, http_base: str) -> None:
    page = reader.new_page()
    page.goto(http_base + "index.html")
    box, shown = page.locator("#dl-nav input"), page.locator(".dl-instant")
    typed(page, "latency")
    page.keyboard.press("Escape")
    expect(shown).to_be_hidden()
    expect(box).to_have_attribute("aria-expanded", "false")
    expect(box).to_have_value("latency")
    page.keyboard.press("ArrowDown")
    expect(shown).to_be_visible()
    page.locator("h1").click()
    expect(shown).to_be_hidden()


def test_the_list_says_when_there_is_nothing(reader: BrowserContext, base: str) -> None:
    page = reader.new_page()
    page.goto(base + "index.html")
    typed(page, "latency")
    page.locator("#dl-nav input").fill("xqzzvw")
    expect(page.locator(".dl-instant")).to_contain_text("xqzzvw")
    assert page.locator(".dl-instant a").count() == 0


def test_the_search_page_has_the_list_too(reader: BrowserContext, base: str) -> None:
    page = searching(reader, base + "search.html")
    expect(page.locator(".dl-search-page .dl-instant")).to_be_hidden()
    page.locator(".dl-search-page input").fill("roofline")
    page.locator(".dl-search-page .dl-instant a").first.click()
    page.wait_for_url(re.compile(r"roofline"))


@pytest.mark.parametrize("language", languages(), ids=lambda each: each.code)
def test_results_can_be_tapped_on_a_phone(browser: Browser, base: str, language: Language) -> None:
    context = browser.new_context(viewport=NARROW, has_touch=True, is_mobile=True)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(base + address(language, "index.html"))
    page.locator(".dl-menu").tap()
    page.locator("#dl-nav input").tap()
    page.keyboard.type("roofline")
    option = page.locator(".dl-instant a").first
    expect(option).to_be_visible()
    box = option.bounding_box()
    assert box
    assert box["height"] >= 40
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= NARROW["width"]
    option.tap()
    page.wait_for_url(re.compile(r"\.html#"))
    context.close()


def test_without_scripts_the_form_says_that_it_needs_them(browser: Browser, http_base: str) -> None:
    context = browser.new_context(java_script_enabled=False, viewport=WIDE)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(http_base + "index.html")
    page.locator("#dl-nav input").fill("latency")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=latency")
    expect(page.locator("noscript p")).to_be_visible()
    context.close()
