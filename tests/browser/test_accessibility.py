"""Every page for whoever uses no mouse, no eyes or no scripts: axe's rules, the keyboard, names, contrast of marks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, BrowserContext, Page, expect

from booktools.book import Language
from tests.browser.conftest import counterpart, language_of, languages, pages
from tests.browser.test_site import CHAPTERS, FIRST, NARROW, OTHERS, WIDE, longest

PAGES = pages()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
"""The tags of the rules that hold, none of them switched off."""
OF_COLOUR = ["color-contrast"]
"""The only rule that another theme can break."""
OF_WIDTH = ["scrollable-region-focusable", "aria-hidden-focus", "region", "landmark-unique", "bypass", "button-name"]
"""The rules that a narrow window can break, in which boxes scroll and the menu is folded away."""

REVEAL = """() => {
  const style = document.createElement("style");
  style.textContent = "* { content-visibility: visible !important }"; // axe leaves out what is not laid out
  document.head.append(style);
  for (const closed of document.querySelectorAll("article details")) closed.open = true;
  for (const button of document.querySelectorAll("button.dl-show")) button.click(); // what waits for a guess
}"""
BROKEN = """async (rules) => (await axe.run(document, {
    ...(Array.isArray(rules) ? {runOnly: rules} : rules), resultTypes: ["violations"]})).violations
  .map((rule) => [rule.id, rule.nodes.length, rule.nodes.slice(0, 3).map((node) => node.html.slice(0, 160))])"""
IN_BRIEF = {
    counterpart(name, each)
    for name in ("index.html", "slow.html", "machines.html", "servers.html")
    for each in languages()
}
"""Where axe looks at colours too, half a minute a chapter; of all text on all pages `test_text_stands_out` does."""
NOT_COLOUR = {"runOnly": RULES, "rules": {rule: {"enabled": False} for rule in OF_COLOUR}}
"""All rules but the one that takes ten times as long as the others together."""

STATES = {
    "whole": ("light", WIDE, NOT_COLOUR),
    "light": ("light", WIDE, {"runOnly": OF_COLOUR}),
    "dark": ("dark", WIDE, {"runOnly": OF_COLOUR}),
    "narrow": ("light", NARROW, {"runOnly": OF_WIDTH}),
}
"""How a page is shown, and which rules are asked for there."""


class Examiner:
    """A page in which axe looks at other pages."""

    def __init__(self, browser: Browser, base: str) -> None:
        self.base = base
        self.context = browser.new_context(viewport=WIDE, locale=FIRST.html)  # type: ignore[arg-type]
        self.page = self.context.new_page()

    def broken(self, name: str, state: str) -> list[Any]:
        """Returns the rules that a page breaks: each with how often, and where first."""
        scheme, size, rules = STATES[state]
        self.page.set_viewport_size(size)  # type: ignore[arg-type]
        self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        self.page.goto(self.base + name)
        self.page.evaluate(REVEAL)
        self.page.evaluate(AXE_SCRIPT)
        return self.page.evaluate(BROKEN, rules)  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def examiner(browser: Browser, http_base: str) -> Iterator[Examiner]:
    found = Examiner(browser, http_base)
    yield found
    found.context.close()


@pytest.mark.parametrize("page", PAGES)
def test_breaks_no_rule(examiner: Examiner, page: str) -> None:
    found = examiner.broken(page, "whole")
    assert found == [], json.dumps(found, indent=1, ensure_ascii=False)


@pytest.mark.parametrize(
    "page", [page if page in IN_BRIEF else pytest.param(page, marks=pytest.mark.thorough) for page in PAGES]
)
@pytest.mark.parametrize("state", ["light", "dark", "narrow"])
def test_breaks_none_of_another_theme_or_width(examiner: Examiner, page: str, state: str) -> None:
    found = examiner.broken(page, state)
    assert found == [], json.dumps(found, indent=1, ensure_ascii=False)


def test_axe_finds_what_is_wrong(examiner: Examiner) -> None:
    """What the test above stands on: a page with a drawing that has no name breaks a rule."""
    examiner.page.goto(examiner.base + "index.html")
    examiner.page.evaluate(AXE_SCRIPT)
    examiner.page.evaluate("document.querySelector('article').innerHTML += '<svg role=img></svg>'")
    assert "svg-img-alt" in [rule for rule, *_ in examiner.page.evaluate(BROKEN, STATES["whole"][2])]


# --- figures ---

FIGURES = """() => [...document.querySelectorAll("article .dl-figure > .dl-whole")].map((drawing) => [
  drawing.getAttribute("role"),
  document.getElementById(drawing.getAttribute("aria-labelledby"))?.textContent.trim() ?? "",
])"""


@pytest.mark.parametrize("page", CHAPTERS)
def test_captions_name_figures(examiner: Examiner, page: str) -> None:
    examiner.page.goto(examiner.base + page)
    for role, name in examiner.page.evaluate(FIGURES):
        assert role == "img"
        assert len(name) > 10


WHOLE = """() => [...document.querySelectorAll(".dl-data tr")]
  .every((row) => row.cells.length === row.closest("table").rows[0].cells.length)"""


@pytest.mark.parametrize("language", languages(), ids=lambda language: language.code)
def test_half_of_the_plots_have_their_data(examiner: Examiner, language: Language) -> None:
    """A drawing has no axes; of the plots, at least half can be read back."""
    tables = plots = 0
    for page in (page for page in CHAPTERS if language_of(page) == language):
        examiner.page.goto(examiner.base + page)
        plots += examiner.page.locator("figure .dl-whole:has([id$='matplotlib.axis_1'])").count()
        tables += examiner.page.locator("figure .dl-data").count()
        assert examiner.page.evaluate(WHOLE)
    assert tables >= plots / 2 > 0


# --- colours of marks ---

MARKS = """() => {
  const probe = document.body.appendChild(document.createElement("i"));
  const paint = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const luminance = (colour) => {
    probe.style.color = colour;
    paint.fillStyle = getComputedStyle(probe).color;
    paint.fillRect(0, 0, 1, 1);
    const linear = (c) => ((c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = [...paint.getImageData(0, 0, 1, 1).data].map(linear);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return [1, 2, 3, 4, 5, 6].map((n) => {
    const [a, b] = [luminance(`var(--dl-series-${n})`), luminance("var(--paper)")].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05);
  });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_stand_out(context: BrowserContext, http_base: str, scheme: Any) -> None:
    page = context.new_page()
    page.emulate_media(color_scheme=scheme)
    page.goto(http_base + "index.html")
    contrasts = page.evaluate(MARKS)
    assert len(contrasts) == 6
    assert min(contrasts) >= 3


# --- the keyboard ---


def stops(page: Page, most: int) -> list[str]:
    """Returns what each press of the tab key reaches, as the first of these parts of a page that holds it."""
    parts = ".dl-skip, .dl-head, #dl-nav, .dl-toc, .dl-here, article, .dl-turn"
    where = f"((part) => part?.className || part?.tagName)(document.activeElement.closest('{parts}'))"
    found = []
    for _ in range(most):
        page.keyboard.press("Tab")
        found.append(page.evaluate(where))
    return found


@pytest.mark.parametrize("width", [WIDE, NARROW], ids=["wide", "narrow"])
def test_contents_come_before_the_text(browser: Browser, http_base: str, width: dict[str, int]) -> None:
    context = browser.new_context(viewport=width, locale=FIRST.html)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(http_base + longest())
    met = stops(page, 60)
    assert met[0] == "dl-skip"
    contents = "dl-toc" if width == WIDE else "dl-here"
    assert contents in met[:30]
    assert met.index(contents) < met.index("ARTICLE")
    context.close()


def test_focus_is_seen(context: BrowserContext, http_base: str) -> None:
    """Each stop has an outline of two pixels, and lies within the window."""
    page = context.new_page()
    page.goto(http_base + longest())
    for _ in range(80):
        page.keyboard.press("Tab")
        seen = page.evaluate(
            """() => {
              const e = document.activeElement, box = e.getBoundingClientRect(), style = getComputedStyle(e);
              const outlined = parseFloat(style.outlineWidth) >= 2 && style.outlineStyle !== "none";
              return [outlined, box.bottom > 0 && box.top < innerHeight, e.outerHTML.slice(0, 120)];
            }"""
        )
        assert seen[:2] == [True, True], seen


def test_skip_link_leads_to_the_text(context: BrowserContext, http_base: str) -> None:
    page = context.new_page()
    page.goto(http_base + longest())
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("!!document.activeElement.closest('main')")


def test_escape_closes_the_menu_and_returns(browser: Browser, http_base: str) -> None:
    context = browser.new_context(viewport=NARROW)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(http_base + longest())
    page.locator(".dl-menu").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#dl-nav")).to_be_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("!!document.activeElement.closest('#dl-nav')")
    page.keyboard.press("Escape")
    expect(page.locator("#dl-nav")).to_be_hidden()
    assert page.evaluate("document.activeElement.className") == "dl-menu"
    context.close()


# --- without scripts ---


@pytest.mark.parametrize("page", [longest(), *(f"{other.code}/{longest()}" for other in OTHERS)])
def test_reads_without_scripts(browser: Browser, http_base: str, page: str) -> None:
    context = browser.new_context(viewport=WIDE, java_script_enabled=False)  # type: ignore[arg-type]
    tab = context.new_page()
    tab.goto(http_base + page)
    for part in ("article h2", "article p", "article math", ".dl-figure svg", "#dl-nav a", ".dl-toc a"):
        expect(tab.locator(part).first).to_be_visible()
    closed = tab.locator(".dl-data").first
    closed.locator("summary").click()
    expect(closed.locator("table").first).to_be_visible()
    tab.locator(".dl-turn a").last.click()
    expect(tab.locator("h1")).to_be_visible()
    context.close()


# --- the claims ---


@pytest.mark.parametrize("width", [WIDE, NARROW], ids=["wide", "narrow"])
def test_claims_fit(browser: Browser, http_base: str, width: dict[str, int]) -> None:
    """With seven machines the table fits a wide window; on a narrow one its sentences stay in sight."""
    context = browser.new_context(viewport=width, locale=FIRST.html)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(http_base + "machines.html")
    page.evaluate(REVEAL)
    page.evaluate(
        """() => { for (const row of document.querySelectorAll(".dl-claims tr"))
          while (row.cells.length < 8) row.append(row.cells[1].cloneNode(true)); }"""
    )
    box = page.locator(".dl-claims")
    assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
    if width == WIDE:
        assert box.evaluate("(box) => box.scrollWidth - box.clientWidth") <= 0
    box.evaluate("(box) => { box.scrollLeft = 999; }")
    first = box.locator("tbody th").first
    assert first.evaluate("(cell) => cell.getBoundingClientRect().left") >= 0
    context.close()


COUNTED = """() => [...document.querySelectorAll(".dl-claims tbody")].map((group) => [...group.rows].map((row) =>
  [...row.cells].slice(1).map((cell) => [...cell.querySelectorAll("span:has(> .dl-mark)")]
    .map((each) => [/dl-(?!sum)[\\w-]+/.exec(each.className)[0], parseInt(each.textContent) || 1]))))"""


def summed(rows: list[Any]) -> list[dict[str, int]]:
    """Returns how often each outcome occurs in these rows, machine by machine."""
    counts: list[dict[str, int]] = [{} for _ in rows[0]]
    for cells in rows:
        for count, cell in zip(counts, cells, strict=True):
            for outcome, number in cell:
                count[outcome] = count.get(outcome, 0) + number
    return counts


def test_claims_add_up(context: BrowserContext, http_base: str) -> None:
    """The sums of a chapter are its rows, counted; those of all chapters are their sum."""
    page = context.new_page()
    page.goto(http_base + "machines.html")
    total, *chapters = page.evaluate(COUNTED)
    assert len(chapters) > 1
    for heading, *claims in chapters:
        assert summed([heading]) == summed(claims)
    assert summed(total) == summed([heading for heading, *_ in chapters])
