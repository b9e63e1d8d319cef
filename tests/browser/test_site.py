"""What readers do with the site: change the language, search, copy code, open solutions, choose colours."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from booktools.source.book import Language
from tests.browser.conftest import NARROW, WIDE, NewContext, counterpart, language_of, languages, pages, settle
from tests.browser.links import links

FIRST, *OTHERS = languages()


def page_with(site: Path, markup: str, order: int) -> str:
    """Returns the smallest (``order`` 0) or largest (-1) page in the first language whose source has ``markup``."""
    size = lambda page: (site / page).stat().st_size
    found = sorted((page for page in pages() if language_of(page) == FIRST), key=size)
    return [page for page in found if markup in (site / page).read_text(encoding="utf-8")][order]


# --- languages ---


def switch(page: Page, language: Language) -> None:
    """Clicks where the link is seen: a locator would first scroll to where it stood before it stuck to the top."""
    box = page.locator(f'.dl-languages a[hreflang="{language.html}"]').bounding_box()
    assert box
    with page.expect_navigation():
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    settle(page)


@pytest.mark.parametrize("other", OTHERS, ids=lambda language: language.code)
@pytest.mark.parametrize(("base", "width"), [("http", WIDE), ("file", NARROW)], indirect=["base"], ids=["http", "file"])
def test_switches_to_the_same_heading_and_back(
    new_context: NewContext, site: Path, base: str, width: dict[str, int], other: Language
) -> None:
    page = new_context(viewport=width).new_page()
    start = page_with(site, "mathjax", 0)
    page.goto(base + start)
    settle(page)
    switch(page, other)
    assert page.url == base + counterpart(start, other)
    switch(page, FIRST)
    assert page.url == base + start
    anchors = page.evaluate("[...document.querySelectorAll('article section section[id]')].map((s) => s.id)")
    for anchor in (anchors[0], anchors[len(anchors) // 2], anchors[-1]):
        page.evaluate("(id) => document.getElementById(id).scrollIntoView({behavior: 'instant'})", anchor)
        # The heading that stands on top may be a later one when the page ends before this one can.
        on_top = page.evaluate("sectionOnTop().id")
        switch(page, other)
        assert page.url == f"{base}{counterpart(start, other)}#{on_top}"
        assert on_top in links(site / counterpart(start, other)).ids
        switch(page, FIRST)
        assert page.url == f"{base}{start}#{on_top}"


def test_switches_without_scripts(new_context: NewContext, http_base: str) -> None:
    page = new_context(java_script_enabled=False).new_page()
    page.goto(http_base + "index.html")
    for other in OTHERS:
        page.locator(f'.dl-languages a[hreflang="{other.html}"]').click()
        expect(page).to_have_url(http_base + counterpart("index.html", other))
        page.locator(f'.dl-languages a[hreflang="{FIRST.html}"]').click()
        expect(page).to_have_url(http_base + "index.html")
    expect(page.locator(".dl-hint").first).to_be_hidden()


def test_search_keeps_its_query_when_the_language_changes(tab: Page, base: str) -> None:
    tab.goto(base + "search.html?q=GPU")
    for other in OTHERS:
        switch(tab, other)
        assert tab.url == f"{base}{other.code}/search.html?q=GPU"
        switch(tab, FIRST)


# --- the hint for first-time readers ---


@pytest.mark.parametrize("language", languages(), ids=lambda language: language.code)
def test_hint_appears_once_in_the_readers_language(new_context: NewContext, base: str, language: Language) -> None:
    elsewhere = next(each for each in languages() if each != language)
    page = new_context(locale=language.html).new_page()
    page.goto(base + counterpart("index.html", elsewhere))
    hint = page.locator(f'.dl-hint[lang="{language.html}"]')
    expect(hint).to_be_visible()
    expect(page.locator(".dl-hint:visible")).to_have_count(1)
    hint.locator("button").click()
    expect(hint).to_be_hidden()
    page.reload()
    expect(hint).to_be_hidden()
    page.goto(base + counterpart("index.html", language))
    expect(page.locator(".dl-hint:visible")).to_have_count(0)


def test_hint_is_gone_after_a_switch(new_context: NewContext, http_base: str) -> None:
    page = new_context(locale=OTHERS[0].html).new_page()
    page.goto(http_base + "index.html")
    page.locator(f'.dl-hint[lang="{OTHERS[0].html}"] a').click()
    expect(page).to_have_url(http_base + counterpart("index.html", OTHERS[0]))
    page.goto(http_base + "index.html")
    expect(page.locator(".dl-hint:visible")).to_have_count(0)


def test_no_hint_for_a_language_that_the_book_does_not_speak(new_context: NewContext, http_base: str) -> None:
    page = new_context(locale="fi-FI").new_page()
    page.goto(http_base + "index.html")
    expect(page.locator(".dl-hint:visible")).to_have_count(0)


def test_works_where_storage_is_forbidden(new_context: NewContext, http_base: str) -> None:
    context = new_context(locale=OTHERS[0].html)
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } })"
    )
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(http_base + "index.html")
    page.locator(".dl-hint button").first.click()
    page.locator(".dl-mode").click()
    page.locator(f'.dl-languages a[hreflang="{OTHERS[0].html}"]').click()
    expect(page).to_have_url(http_base + counterpart("index.html", OTHERS[0]))
    page.goto(http_base + "search.html?q=GPU")
    expect(page.locator("#dl-found")).not_to_be_empty()
    assert errors == []


# --- search ---

QUERIES = [
    ("", "Benchmark", "measuring"),
    ("", "arithmetic intensity", "measuring"),
    ("", "ARITHMETIC  Intensity", "measuring"),
    ("", "measured", "measuring"),
    ("zh/", "多个设备", ""),
    ("zh/", "预热", "measuring"),
    ("zh/", "四分位距", "measuring"),
    ("zh/", "Benchmark", "measuring"),
    ("zh/", "测", "measuring"),
    ("zh/", "PyTorch", "index"),
]
SHOWN = 40
"""So many sections a search shows at most."""
NONSENSE = [
    ("", "xqzzvw"),
    ("", "qwrtp zzzkk"),
    ("zh/", "魑魅魍魉"),
    ("zh/", "位四距分"),
    ("zh/", "xqzzvw"),
    ("zh/", "。"),
]


def search(page: Page, address: str, query: str) -> list[str]:
    """Returns the pages that the search page finds, best first."""
    page.goto(f"{address}search.html?q={quote(query)}")
    expect(page.locator("#dl-found")).not_to_be_empty()
    return page.evaluate("[...document.querySelectorAll('#dl-results a')].map((a) => a.getAttribute('href'))")


def test_search_finds(tab: Page, site: Path, base: str) -> None:
    for prefix, query, where in QUERIES:
        found = search(tab, base + prefix, query)
        assert found, query
        assert any(target.startswith(f"{where}.html") for target in found) or not where, (query, found)
        for target in found:
            path, _, anchor = target.partition("#")
            assert not anchor or anchor in links(site / prefix / path).ids, (query, target)
        expect(tab.locator("#dl-results mark").first, query).to_be_visible()


def test_search_finds_nothing_for_nonsense(tab: Page, base: str) -> None:
    for prefix, query in NONSENSE:
        assert search(tab, base + prefix, query) == [], query
        said = tab.locator("#dl-found").inner_text()
        assert query in said
        if prefix:
            assert re.search(r"[\u4e00-\u9fff]", said.replace(query, "")), said


def test_search_finds_phrases_of_every_chinese_page(tab: Page, file_base: str, site: Path) -> None:
    """Any four Han characters that stand together in a page find it: no dictionary decides what a word is.

    They stand in no more sections than a search shows, unlike what is said under every claim.
    """
    text = (site / "zh" / "_static" / "texts.js").read_text(encoding="utf-8")
    sections = json.loads(text.removeprefix("window.DL_TEXTS=").rstrip().removesuffix(";"))
    assert search(tab, file_base + "zh/", "预热")
    missed = []
    for name in sorted({section[0] for section in sections}):
        runs = re.findall(r"[\u4e00-\u9fff]{4,}", " ".join(s[3] for s in sections if s[0] == name))
        ends = [run[-4:] for run in runs]
        begins = [run[:4] for run in runs[len(runs) // 2 :]]
        for phrases in (ends, begins, ends[::-1]):
            phrase = next(each for each in phrases if sum(each in s[2] + s[3] for s in sections) <= SHOWN)
            if name not in tab.evaluate("(phrase) => find(phrase).map((each) => each.page)", phrase):
                missed.append((name, phrase))
    assert missed == []


def test_search_from_any_page(tab: Page, base: str) -> None:
    tab.goto(base + "index.html")
    tab.keyboard.press("/")
    tab.keyboard.type("Benchmark")
    tab.keyboard.press("Enter")
    tab.wait_for_url("**/search.html?q=Benchmark")
    expect(tab.locator("#dl-results a").first).to_be_visible()


def test_search_shows_a_query_as_text(tab: Page, http_base: str) -> None:
    assert search(tab, http_base, "<img src=x onerror=alert(1)>") == []
    assert tab.locator("#main img").count() == 0


# --- comforts ---


def test_menu_opens_and_closes_on_a_narrow_screen(new_context: NewContext, http_base: str) -> None:
    page = new_context(viewport=NARROW, has_touch=True).new_page()
    page.goto(http_base + "index.html")
    expect(page.locator("#dl-nav")).to_be_hidden()
    page.locator(".dl-menu").tap()
    expect(page.locator("#dl-nav")).to_be_visible()
    heights = page.evaluate("[...document.querySelectorAll('#dl-nav a')].map((a) => a.getBoundingClientRect().height)")
    assert min(heights) >= 36
    page.keyboard.press("Escape")
    expect(page.locator("#dl-nav")).to_be_hidden()


def test_colours_are_kept(tab: Page, http_base: str) -> None:
    tab.emulate_media(color_scheme="light")
    tab.goto(http_base + "index.html")
    background = "getComputedStyle(document.body).backgroundColor"
    light = tab.evaluate(background)
    tab.locator(".dl-mode").click()
    tab.locator(".dl-mode").click()
    expect(tab.locator("html")).to_have_attribute("data-mode", "dark")
    dark = tab.evaluate(background)
    assert dark != light
    tab.goto(http_base + counterpart("index.html", OTHERS[0]))
    assert tab.evaluate(background) == dark
    tab.locator(".dl-mode").click()
    expect(tab.locator("html")).not_to_have_attribute("data-mode", "dark")
    assert tab.evaluate(background) == light


def test_code_can_be_copied(new_context: NewContext, site: Path, http_base: str) -> None:
    page = new_context(permissions=["clipboard-read", "clipboard-write"]).new_page()
    page.clock.install(time=0)
    page.goto(http_base + page_with(site, "cell_input", 0))
    page.clock.pause_at(3600)  # The page says that it has copied for a while: time stands still until it was seen.
    block = page.locator(".cell_input div.highlight:has(.dl-copy)").first
    block.hover()
    block.locator(".dl-copy").click()
    expect(block.locator(".dl-done")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == block.locator("pre").text_content()
    page.clock.run_for(1500)
    expect(block.locator(".dl-done")).to_have_count(0)


def test_solutions_open_and_links_into_them_open_them(tab: Page, site: Path, http_base: str) -> None:
    page = page_with(site, "dl-solution", 0)
    tab.goto(http_base + page)
    solution = tab.locator("details.dl-solution").first
    expect(solution.locator("section")).to_be_hidden()
    solution.locator("summary").click(position={"x": 3, "y": 18})
    expect(solution.locator("section")).to_be_visible()
    anchor = solution.get_attribute("id")
    assert anchor
    tab.goto(http_base + "index.html")
    tab.goto(f"{http_base}{page}#{anchor}")
    expect(tab.locator("details.dl-solution").first.locator("section")).to_be_visible()


# --- machines ---


def machines_shown(page: Page) -> list[list[str]]:
    """Returns the machines that each table has in sight, the longest list last."""
    tables = page.locator(".dl-environments table, .dl-claims table").all()
    heads = [table.locator("th").filter(visible=True).all_inner_texts() for table in tables]
    widths = [len(table.locator("tbody tr").first.locator("td").filter(visible=True).all()) for table in tables]
    assert widths == [len(names) for names in heads]
    return [names[1:] for names in heads]


@pytest.mark.parametrize("base", ["http", "file"], indirect=True)
def test_two_to_four_machines_stand_side_by_side(tab: Page, base: str) -> None:
    tab.goto(base + "machines.html")
    every, _ = machines_shown(tab)
    assert len(every) == 3
    first, second, third = every
    tab.get_by_label(second, exact=True).uncheck()
    assert machines_shown(tab) == [[first, third]] * 2
    expect(tab.locator(".dl-choose :checked:disabled")).to_have_count(2)  # one alone is no comparison


def test_the_address_keeps_which_machines(tab: Page, http_base: str) -> None:
    tab.goto(http_base + "machines.html#machines-claims")
    first, second, third = machines_shown(tab)[0]
    tab.get_by_label(first, exact=True).uncheck()
    expect(tab).to_have_url(f"{http_base}machines.html?machines={second},{third}#machines-claims")
    tab.reload()
    assert machines_shown(tab) == [[second, third]] * 2
    tab.evaluate("scrollTo(0, 0)")
    switch(tab, OTHERS[0])
    assert machines_shown(tab) == [[second, third]] * 2
    tab.goto(http_base + "machines.html?machines=nobody")
    assert machines_shown(tab) == [[first, second, third]] * 2


def test_without_scripts_every_machine_is_there(new_context: NewContext, http_base: str) -> None:
    page = new_context(java_script_enabled=False).new_page()
    page.goto(http_base + "machines.html")
    assert [len(names) for names in machines_shown(page)] == [3, 3]
    expect(page.locator(".dl-choose")).to_have_count(0)


def test_of_six_machines_three_are_there_and_four_at_most(tab: Page, site: Path, http_base: str) -> None:
    text = (site / "machines.html").read_text(encoding="utf-8")
    for kind, added in (("th", ["foo", "bar", "baz"]), ("td", ["–"] * 3)):
        cells = "".join(f"<{kind}>{name}</{kind}>" for name in added)
        text = text.replace(f"</{kind}>\n</tr>", f"</{kind}>{cells}</tr>")
    tab.route("**/machines.html", lambda route: route.fulfill(body=text, content_type="text/html"))
    tab.goto(http_base + "machines.html")
    three, _ = machines_shown(tab)
    assert len(three) == 3
    tab.get_by_label("bar", exact=True).check()
    assert machines_shown(tab) == [[*three, "bar"]] * 2
    expect(tab.get_by_label("foo", exact=True)).to_be_disabled()
    expect(tab.locator(".dl-choose :disabled")).to_have_count(2)
