"""Every page of every language, in a real browser: what it asks for, says, shows, and leads to."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urljoin, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import counterpart, language_of, languages, pages, site_folder

HERE = Path(__file__).parent
WALKER = (HERE / "walker.js").read_text(encoding="utf-8")
CONTRAST = (HERE / "contrast.js").read_text(encoding="utf-8")
WIDE, NARROW = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
FIRST, *OTHERS = languages()
PAGES = pages()
CHAPTERS = [page for page in PAGES if not page.endswith("search.html")]

NAMES = """
Python Linux Debian Markdown Sphinx Jupyter Matplotlib Numba Triton Inductor Dynamo Chromium Amdahl Gustafson
Little Williams Hoefler Belli Kalibera Jones Efron Tibshirani Okabe Ito Welford Tukey Intel Apple
Karp Flatt Gloo ms ns kB MiB GiB KiB Gbit Mbit kbit bit min max sin cos log exp sum cpu
cuda float int bool true false None English JavaScript CC BY MIT glibc Graham
ones mul add matmul copy loss item waitall asnumpy split layer grad back apply product
eager reduce overhead autotune dynamic True False if Bekman
Ryzen Skylake Ice Lake Zen Sandy Bridge Blackwell Unix Adam bfloat nm km Ki Mi Tbit mbw fio iperf write allocate gelu
softmax read Snappy Eshelman Optane Omni Path
stem head characters one top
""".split()  # noqa: SIM905  One would not find a name among so many quotes.
"""Names and units that the text gives in Chinese too, besides what has capitals inside (GPU, NumPy). What a machine
tells of itself is in no list: the page marks it as a name.

The last lines have the operations that the engine's figures name, PyTorch's words for modes and options, and what the
book's two networks call their parts.
"""

TEXT = """
article p; article li; article a; article td; article th; figcaption span; h1; h2; h3; summary; .dl-muted; .dl-note;
.dl-verdicts strong; .dl-claims strong; .highlight span; .highlight pre; .dl-figure text; .dl-soon; .dl-toc a; #dl-nav
a; .dl-foot p; .admonition-title; .dl-languages a; .caption-text
"""
SELECTORS = [selector.strip() for selector in TEXT.split(";")]


@dataclass
class Visit:
    """What one look at a page found."""

    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


FACTS = """() => ({
  lang: document.documentElement.lang,
  title: document.title,
  alternates: [...document.querySelectorAll("link[rel=alternate][hreflang]")].map((l) => [l.hreflang, l.href]),
  languages: [...document.querySelectorAll(".dl-languages a")].map((a) => [a.hreflang, a.href]),
  maths: document.querySelectorAll("article .math").length,
  rendered: document.querySelectorAll("article .math mjx-container").length,
  badMaths: [...document.querySelectorAll("mjx-merror, [data-mjx-error]")].map((e) => e.textContent),
  images: [...document.images].filter((i) => !i.complete || !i.naturalWidth).map((i) => i.src),
  twice: [...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, n, all) => all.indexOf(id) !== n),
  nameless: [...document.querySelectorAll("a, button, input, summary")].filter((e) =>
    !(e.getAttribute("aria-label") || e.textContent).trim()).map((e) => e.outerHTML.slice(0, 100)),
  claims: [...document.querySelectorAll(".dl-claim")].map((claim) =>
    [claim.id, [...claim.querySelectorAll(".dl-verdicts li strong")].map((verdict) => verdict.textContent)]),
  fit: document.scrollingElement.scrollWidth - innerWidth,
  headings: document.querySelectorAll("h1").length,
})"""


class Visitor:
    """Looks at each page once: wide and light, then narrow, then dark; what it saw is kept for all tests."""

    def __init__(self, browser: Browser, base: str) -> None:
        self.base = base
        self.context = browser.new_context(viewport=WIDE, color_scheme="light", locale=FIRST.html)  # type: ignore[arg-type]
        self.page = self.context.new_page()
        self.now = Visit()
        self.page.on("request", lambda request: self.now.requests.append(request.url))
        self.page.on("console", lambda m: self.now.errors.append(m.text) if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.now.errors.append(str(error)))
        self.page.on("requestfailed", lambda request: self.now.errors.append(f"failed: {request.url}"))
        self.visit = functools.cache(self._visit)

    def _visit(self, name: str) -> Visit:
        self.now = visit = Visit()
        page = self.page
        page.set_viewport_size(WIDE)  # type: ignore[arg-type]
        page.emulate_media(color_scheme="light")
        page.goto(self.base + name, wait_until="load")
        page.evaluate("() => window.MathJax?.startup?.promise")
        visit.facts = page.evaluate(FACTS)
        visit.facts["foreign words"] = page.evaluate(WALKER, NAMES)
        visit.facts["light"] = page.evaluate(CONTRAST, SELECTORS)
        page.emulate_media(color_scheme="dark")
        visit.facts["dark"] = page.evaluate(CONTRAST, SELECTORS)
        page.set_viewport_size(NARROW)  # type: ignore[arg-type]
        visit.facts["narrow"] = page.evaluate(
            """() => ({
              fit: document.scrollingElement.scrollWidth - innerWidth,
              figures: [...document.querySelectorAll(".dl-figure text")].filter((text) => text.textContent.trim())
                .map((text) => [text.getScreenCTM(), parseFloat(getComputedStyle(text).fontSize)])
                .filter(([m, size]) => size * Math.sqrt(Math.abs(m.a * m.d - m.b * m.c)) < 9).length,
              small: [...document.querySelectorAll("button, summary, .dl-head a, .dl-turn a, .dl-begin a, input")]
                .map((element) => [element.getBoundingClientRect(), element])
                .filter(([box]) => box.width && (box.width < 24 || box.height < 24))
                .map(([, element]) => element.outerHTML.slice(0, 100)),
            })"""
        )
        return visit


@pytest.fixture(scope="module")
def visitor(browser: Browser, http_base: str) -> Iterator[Visitor]:
    found = Visitor(browser, http_base)
    yield found
    found.context.close()


@pytest.fixture(scope="module")
def file_visitor(browser: Browser, file_base: str) -> Iterator[Visitor]:
    found = Visitor(browser, file_base)
    yield found
    found.context.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A reader who comes for the first time, and whose browser prefers the first language."""
    fresh = browser.new_context(viewport=WIDE, locale=FIRST.html)  # type: ignore[arg-type]
    yield fresh
    fresh.close()


def test_there_are_pages_in_every_language(site: Path) -> None:
    names = {language.code: {p for p in PAGES if language_of(p) == language} for language in languages()}
    for other in OTHERS:
        assert {counterpart(page, other) for page in names[FIRST.code]} == names[other.code]
    assert len(names[FIRST.code]) >= 3


# --- what a page asks for ---


@pytest.mark.parametrize("page", PAGES)
def test_asks_nothing_of_another_host(visitor: Visitor, file_visitor: Visitor, page: str) -> None:
    for each in (visitor, file_visitor):
        assert [url for url in each.visit(page).requests if not url.startswith((each.base, "data:", "blob:"))] == []


@pytest.mark.parametrize("page", PAGES)
def test_has_no_errors(visitor: Visitor, file_visitor: Visitor, page: str) -> None:
    for each in (visitor, file_visitor):
        assert each.visit(page).errors == []
        assert each.visit(page).facts["images"] == []


@pytest.mark.parametrize("page", CHAPTERS)
def test_mathematics_is_rendered_and_loaded_only_where_there_is_some(
    visitor: Visitor, file_visitor: Visitor, page: str
) -> None:
    for each in (visitor, file_visitor):
        facts = each.visit(page).facts
        assert facts["rendered"] == facts["maths"]
        assert facts["badMaths"] == []
        assert any("mathjax" in url for url in each.visit(page).requests) == (facts["maths"] > 0)


# --- what it says ---


@pytest.mark.parametrize("page", PAGES)
def test_says_its_language_and_where_the_others_are(visitor: Visitor, page: str) -> None:
    facts = visitor.visit(page).facts
    assert facts["lang"] == language_of(page).html
    paths = {language.html: counterpart(page, language) for language in languages()}
    alternates = {tag: urlsplit(url).path for tag, url in facts["alternates"]}
    assert alternates.pop("x-default").endswith("/" + paths[FIRST.html])
    assert {tag: path.endswith("/" + paths[tag]) for tag, path in alternates.items()} == dict.fromkeys(paths, True)
    assert dict(facts["languages"]) == {tag: visitor.base + path for tag, path in paths.items()}


@pytest.mark.parametrize("page", [page for page in PAGES if language_of(page).code == "zh"])
def test_chinese_pages_show_only_chinese(visitor: Visitor, page: str) -> None:
    assert visitor.visit(page).facts["foreign words"] == []


def test_the_walker_finds_english(visitor: Visitor) -> None:
    """What the test above stands on: a page in English has English words, and so has one planted label."""
    assert len(visitor.visit("index.html").facts["foreign words"]) > 50
    if "zh/index.html" in PAGES:
        visitor.page.goto(visitor.base + "zh/index.html")
        visitor.page.evaluate("document.querySelector('h2').title = 'Toggle it'")
        visitor.now = Visit()
        assert len(visitor.page.evaluate(WALKER, NAMES)) == 2


@pytest.mark.parametrize("page", PAGES)
def test_is_well_formed(visitor: Visitor, page: str) -> None:
    facts = visitor.visit(page).facts
    assert facts["headings"] == 1
    assert facts["twice"] == []
    assert facts["nameless"] == []
    assert facts["title"].strip()


@pytest.mark.parametrize("page", CHAPTERS)
def test_every_claim_shows_a_verdict(visitor: Visitor, page: str) -> None:
    for claim, verdicts in visitor.visit(page).facts["claims"]:
        assert verdicts, claim
        assert all(verdicts), claim


# --- how it looks ---


@pytest.mark.parametrize("page", PAGES)
def test_fits_the_window(visitor: Visitor, page: str) -> None:
    facts = visitor.visit(page).facts
    assert facts["fit"] <= 0
    assert facts["narrow"]["fit"] <= 0
    assert facts["narrow"]["small"] == []
    assert facts["narrow"]["figures"] == 0, "figure labels shrink below 9 px"


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(visitor: Visitor, page: str, scheme: str) -> None:
    found = visitor.visit(page).facts[scheme]
    low = {
        selector: seen for selector, seen in found.items() if seen[0] < (3 if selector == ".dl-figure text" else 4.5)
    }
    assert low == {}


# --- where it leads ---


class _Links(HTMLParser):
    """The ids of a page and what it refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.targets: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            elif name in ("href", "src", "action", "xlink:href") and value:
                self.targets.append(value)


@functools.cache
def links(path: Path) -> _Links:
    return _Links(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(site: Path, page: str) -> None:
    broken = []
    for target in links(site / page).targets:
        if re.match(r"(https?|mailto|data):", target):
            continue
        assert not target.startswith("/"), f"{target} would leave a sub-path"
        parts = urlsplit(urljoin(page, target))
        path = site / (unquote(parts.path) or page)
        anchor = unquote(parts.fragment) if path.suffix == ".html" else ""
        if not path.is_file() or (anchor and anchor not in links(path).ids):
            broken.append(target)
    assert broken == []


def longest() -> str:
    """Returns the longest page in the first language."""
    return max((p for p in CHAPTERS if language_of(p) == FIRST), key=lambda p: (site_folder() / p).stat().st_size)


def switch(page: Page, language: str) -> None:
    """Clicks where the link is seen: a locator would first scroll to where it stood before it stuck to the top."""
    box = page.locator(f'.dl-languages a[hreflang="{language}"]').bounding_box()
    assert box
    with page.expect_navigation():
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)


@pytest.mark.parametrize("other", OTHERS, ids=lambda language: language.code)
@pytest.mark.parametrize("width", [WIDE, NARROW], ids=["wide", "narrow"])
def test_switches_to_the_same_heading_and_back(browser: Browser, base: str, other: Any, width: dict[str, int]) -> None:
    context = browser.new_context(viewport=width, locale=FIRST.html)  # type: ignore[arg-type]
    page = context.new_page()
    start = longest()
    page.goto(base + start)
    anchors = page.evaluate("[...document.querySelectorAll('article section section[id]')].map((s) => s.id)")
    for anchor in {anchors[0], anchors[len(anchors) // 2], anchors[-1]}:
        page.goto(base + start)
        page.evaluate("(id) => document.getElementById(id).scrollIntoView({behavior: 'instant'})", anchor)
        # The heading that stands on top may be a later one when the page ends before this one can.
        on_top = page.evaluate("sectionOnTop().id")
        switch(page, other.html)
        assert page.url == f"{base}{counterpart(start, other)}#{on_top}"
        assert page.evaluate("(id) => !!document.getElementById(id)", on_top)
        switch(page, FIRST.html)
        assert page.url == f"{base}{start}#{on_top}"
    page.goto(base + start)
    switch(page, other.html)
    assert page.url == base + counterpart(start, other)
    context.close()


def test_switches_without_scripts(browser: Browser, http_base: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(http_base + longest())
    for other in OTHERS:
        page.locator(f'.dl-languages a[hreflang="{other.html}"]').click()
        assert page.url == http_base + counterpart(longest(), other)
        page.locator(f'.dl-languages a[hreflang="{FIRST.html}"]').click()
    expect(page.locator(".dl-hint").first).to_be_hidden()
    context.close()


def test_search_keeps_its_query_when_the_language_changes(context: BrowserContext, base: str) -> None:
    page = context.new_page()
    page.goto(base + "search.html?q=GPU")
    for other in OTHERS:
        switch(page, other.html)
        assert page.url == f"{base}{other.code}/search.html?q=GPU"
        switch(page, FIRST.html)


# --- the hint for first-time readers ---


@pytest.mark.parametrize("language", languages(), ids=lambda language: language.code)
def test_hint_appears_once_in_the_readers_language(browser: Browser, base: str, language: Any) -> None:
    elsewhere = next(each for each in languages() if each != language)
    context = browser.new_context(locale=language.html)
    page = context.new_page()
    page.goto(base + counterpart("index.html", elsewhere))
    hint = page.locator(f'.dl-hint[lang="{language.html}"]')
    expect(hint).to_be_visible()
    assert page.locator(".dl-hint:visible").count() == 1
    hint.locator("button").click()
    expect(hint).to_be_hidden()
    page.reload()
    expect(hint).to_be_hidden()
    page.goto(base + counterpart("index.html", language))
    assert page.locator(".dl-hint:visible").count() == 0
    context.close()


def test_hint_is_gone_after_a_switch(browser: Browser, http_base: str) -> None:
    context = browser.new_context(locale=OTHERS[0].html)
    page = context.new_page()
    page.goto(http_base + "index.html")
    page.locator(f'.dl-hint[lang="{OTHERS[0].html}"] a').click()
    assert page.url == http_base + counterpart("index.html", OTHERS[0])
    page.goto(http_base + "index.html")
    assert page.locator(".dl-hint:visible").count() == 0
    context.close()


def test_no_hint_for_a_language_that_the_book_does_not_speak(browser: Browser, http_base: str) -> None:
    context = browser.new_context(locale="fi-FI")
    page = context.new_page()
    page.goto(http_base + "index.html")
    assert page.locator(".dl-hint:visible").count() == 0
    context.close()


def test_works_where_storage_is_forbidden(browser: Browser, http_base: str) -> None:
    context = browser.new_context(locale=OTHERS[0].html)
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
    page.goto(http_base + "search.html?q=GPU")
    assert errors == []
    context.close()


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


@pytest.mark.parametrize(("prefix", "query", "where"), QUERIES)
def test_search_finds(context: BrowserContext, base: str, prefix: str, query: str, where: str) -> None:
    page = context.new_page()
    found = search(page, base + prefix, query)
    assert found
    assert any(target.startswith(f"{where}.html") for target in found) or not where
    for target in found:
        path, _, anchor = target.partition("#")
        assert not anchor or anchor in links(site_folder() / prefix / path).ids
    expect(page.locator("#dl-results mark").first).to_be_visible()


@pytest.mark.parametrize(("prefix", "query"), NONSENSE)
def test_search_finds_nothing_for_nonsense(context: BrowserContext, base: str, prefix: str, query: str) -> None:
    page = context.new_page()
    assert search(page, base + prefix, query) == []
    assert query in page.locator("#dl-found").inner_text()
    if prefix:
        assert re.search(r"[\u4e00-\u9fff]", page.locator("#dl-found").inner_text().replace(query, ""))


def test_search_finds_phrases_of_every_chinese_page(context: BrowserContext, file_base: str, site: Path) -> None:
    """Any four Han characters that stand together in a page find it: no dictionary decides what a word is."""
    text = (site / "zh" / "_static" / "texts.js").read_text(encoding="utf-8")
    sections = json.loads(text.removeprefix("window.DL_TEXTS=").rstrip().removesuffix(";"))
    page = context.new_page()
    for name in sorted({section[0] for section in sections}):
        runs = re.findall(r"[\u4e00-\u9fff]{4,}", " ".join(s[3] for s in sections if s[0] == name))
        for phrase in {runs[0][-4:], runs[len(runs) // 2][:4], runs[-1][-4:]}:
            assert any(target.startswith(f"{name}.html") for target in search(page, file_base + "zh/", phrase)), phrase


def test_search_from_any_page(context: BrowserContext, base: str) -> None:
    page = context.new_page()
    page.goto(base + "index.html")
    page.keyboard.press("/")
    page.keyboard.type("Benchmark")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=Benchmark")
    expect(page.locator("#dl-results a").first).to_be_visible()


def test_search_shows_a_query_as_text(context: BrowserContext, http_base: str) -> None:
    page = context.new_page()
    assert search(page, http_base, "<img src=x onerror=alert(1)>") == []
    assert page.locator("#main img").count() == 0


# --- comforts ---


def test_menu_opens_and_closes_on_a_narrow_screen(browser: Browser, http_base: str) -> None:
    context = browser.new_context(viewport=NARROW, has_touch=True)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(http_base + "index.html")
    expect(page.locator("#dl-nav")).to_be_hidden()
    page.locator(".dl-menu").tap()
    expect(page.locator("#dl-nav")).to_be_visible()
    heights = page.evaluate("[...document.querySelectorAll('#dl-nav a')].map((a) => a.getBoundingClientRect().height)")
    assert min(heights) >= 36
    page.keyboard.press("Escape")
    expect(page.locator("#dl-nav")).to_be_hidden()
    context.close()


def test_colours_are_kept(context: BrowserContext, http_base: str) -> None:
    page = context.new_page()
    page.emulate_media(color_scheme="light")
    page.goto(http_base + "index.html")
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)
    page.locator(".dl-mode").click()
    page.locator(".dl-mode").click()
    dark = page.evaluate(background)
    assert dark != light
    page.goto(http_base + counterpart("index.html", OTHERS[0]))
    assert page.evaluate(background) == dark
    page.locator(".dl-mode").click()
    assert page.evaluate(background) == light


def test_code_can_be_copied(context: BrowserContext, http_base: str) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(http_base + longest())
    block = page.locator(".cell_input div.highlight:has(.dl-copy)").first
    block.hover()
    block.locator(".dl-copy").click()
    expect(block.locator(".dl-done")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == block.locator("pre").text_content()


def test_solutions_open_and_links_into_them_open_them(context: BrowserContext, http_base: str) -> None:
    page = context.new_page()
    page.goto(http_base + longest())
    solution = page.locator("details.dl-solution").first
    expect(solution.locator("section")).to_be_hidden()
    solution.locator("summary").click(position={"x": 3, "y": 18})
    expect(solution.locator("section")).to_be_visible()
    page.goto(http_base + "index.html")
    page.goto(f"{http_base}{longest()}#{solution_id(longest())}")
    expect(page.locator("details.dl-solution").first.locator("section")).to_be_visible()


def solution_id(page: str) -> str:
    """Returns the anchor of the first solution on a page."""
    match = re.search(
        r'<details class="[^"]*dl-solution[^"]*" id="([^"]+)"', (site_folder() / page).read_text(encoding="utf-8")
    )
    assert match, f"{page} has no solution with an anchor"
    return match[1]
