"""Questions that ask for a guess: by mouse and by keyboard, right by the record, kept, found, printed; and without
scripts."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from booktools.book import Book, Language
from booktools.guesses import Question, asked_on, middle, question
from booktools.notebook import read_records
from booktools.page import every_page, page_at
from tests.browser.conftest import FIRST, NARROW, OTHERS, ROOT, WIDE, counterpart, language_of, languages
from tests.browser.test_accessibility import BROKEN, RULES
from tests.browser.test_site import SHIFTS, links

BOOK = Book(ROOT)
CHOICE, SCALE, TIME = "compilers.mlp-speedup", "hardware.columns-over-rows", "hardware.short-memory"
"""Questions with several answers, on a scale of factors, and of times."""
SIZES = pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])
IN_EVERY_LANGUAGE = pytest.mark.parametrize("language", languages(), ids=lambda language: language.code)


def asked(key: str) -> Question:
    """Returns a question as its page's source asks it."""
    page = page_at(BOOK, BOOK.page(FIRST.code, key.partition(".")[0]))
    return next(
        question(name, options) for _, name, options, _ in asked_on(page) if name.removesuffix(".percent") == key
    )


def recorded(key: str) -> tuple[tuple[float, ...], float, float]:
    """Returns what this machine recorded: its median, or those of two modes, and the ends of its middle half."""
    page = key.partition(".")[0]
    notebook = nbformat.read(ROOT / "notebooks" / f"{page}.ipynb", as_version=4)
    found = middle(read_records(notebook, page)[key])
    assert found
    centres, halves = found
    return centres, halves[0][0], halves[-1][1]


def path(key: str, language: Language = FIRST) -> str:
    return counterpart(f"{key.partition('.')[0]}.html", language)


def box(page: Page, key: str) -> Locator:
    return page.locator(f"#predict-{key.replace('.', '-')}")


def hidden(page: Page, key: str) -> Locator:
    """What a question hides."""
    return page.locator(f"#predict-{key.replace('.', '-')} + .dl-predicted")


def is_hidden(part: Locator) -> bool:
    return bool(part.evaluate("(part) => part.hidden !== false && part.getBoundingClientRect().height === 0"))


def factor(verdict: str) -> float:
    found = re.search(r"(?:: |的)([\d.]+)(?: times|倍)", verdict)
    assert found, verdict
    return float(found[1])


# --- guessing ---


@IN_EVERY_LANGUAGE
@SIZES
@SCHEMES
def test_a_choice_by_mouse_shows_which_is_right_by_the_record(
    browser: Browser, base: str, language: Language, size: Any, scheme: Any
) -> None:
    context = browser.new_context(viewport=size, color_scheme=scheme, locale=language.html)
    page = context.new_page()
    page.goto(base + path(CHOICE, language))
    here, part, wanted = box(page, CHOICE), hidden(page, CHOICE), asked(CHOICE)
    assert is_hidden(part)
    expect(here.locator(".dl-answer")).to_be_hidden()
    centres, least, most = recorded(CHOICE)
    right = next(n for n, (low, high) in enumerate(wanted.ranges) if low <= centres[0] < high)
    wrong = next(n for n, (low, high) in enumerate(wanted.ranges) if high <= least or most < low)
    here.locator(".dl-choices button").nth(wrong).click()
    expect(part).to_be_visible()
    expect(here.locator(".dl-answer")).to_be_visible()
    marked = here.locator(".dl-choices button").evaluate_all("(all) => all.map((e) => 'right' in e.dataset)")
    assert marked[right]
    assert not marked[wrong]
    expect(here.locator(".dl-choices button").nth(wrong)).to_have_attribute("aria-pressed", "true")
    low = wanted.ranges[wrong][0] < wanted.ranges[right][0]
    said = {"en": ("too high", "too low"), "zh": ("猜高了", "猜低了")}[language.code][low]
    assert said in here.locator(".dl-verdict").inner_text()
    here.locator(".dl-again").click()
    assert is_hidden(part)
    here.locator(".dl-choices button").nth(right).click()
    assert {"en": "that is right", "zh": "猜对了"}[language.code] in here.locator(".dl-verdict").inner_text()
    assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
    context.close()


@IN_EVERY_LANGUAGE
@SIZES
@pytest.mark.parametrize("key", [SCALE, TIME])
def test_a_number_by_keyboard_says_how_far_off_it_is(
    browser: Browser, base: str, language: Language, size: Any, key: str
) -> None:
    context = browser.new_context(viewport=size, locale=language.html)
    page = context.new_page()
    page.goto(base + path(key, language))
    here, slider = box(page, key), box(page, key).locator("input")
    slider.focus()
    page.keyboard.press("End")
    largest = asked(key).stops(False)[-1]
    assert slider.get_attribute("aria-valuetext") == here.locator(".dl-value").inner_text()
    page.keyboard.press("Enter")
    expect(hidden(page, key)).to_be_visible()
    assert factor(here.locator(".dl-verdict").inner_text()) == pytest.approx(largest / recorded(key)[0][-1], rel=0.06)
    assert page.evaluate("document.activeElement.className") == "dl-again", "the focus is not lost"
    expect(slider).to_be_disabled()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.type") == "range"
    page.keyboard.press("Home")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    least = asked(key).stops(False)[0]
    assert factor(here.locator(".dl-verdict").inner_text()) == pytest.approx(recorded(key)[0][0] / least, rel=0.06)
    context.close()


def test_the_mark_on_the_scale_stands_where_the_slider_would(context: BrowserContext, http_base: str) -> None:
    """A guess of what was measured is right, and its thumb lies on the mark."""
    page = context.new_page()
    page.goto(http_base + path(SCALE))
    here, value = box(page, SCALE), recorded(SCALE)[0][0]
    stops = json.loads(here.locator(".dl-slider").get_attribute("data-stops") or "")
    nearest = min(range(len(stops)), key=lambda n: abs(stops[n][0] - value))
    slider = here.locator("input")
    slider.focus()
    page.keyboard.press("Home")
    for _ in range(nearest):
        page.keyboard.press("ArrowRight")
    here.locator(".dl-commit").click()
    expect(here.locator(".dl-verdict")).to_contain_text("that is right")
    mark, track = here.locator(".dl-found b").first.bounding_box(), slider.bounding_box()
    assert mark
    assert track
    thumb = 22
    where = track["x"] + thumb / 2 + (track["width"] - thumb) * nearest / (len(stops) - 1)
    assert abs(mark["x"] + mark["width"] / 2 - where) < track["width"] / len(stops)


def test_what_was_measured_is_said_with_its_spread_and_machine(context: BrowserContext, http_base: str) -> None:
    page = context.new_page()
    page.goto(http_base + path(SCALE))
    box(page, SCALE).locator(".dl-show").click()
    said = box(page, SCALE).locator(".dl-measured").inner_text()
    assert re.fullmatch(r"Measured: [\d.]+ ± [\d.]+ times, on .+, \d+ cores", said)
    expect(box(page, SCALE).locator(".dl-verdict")).to_be_hidden()


def test_a_screen_reader_hears_the_answer_and_which_question_it_is(context: BrowserContext, http_base: str) -> None:
    page = context.new_page()
    page.goto(http_base + path(CHOICE))
    here = box(page, CHOICE)
    group = page.get_by_role("group", name=re.compile("how fast is the compiled network"))
    expect(group.get_by_role("button", name="slower")).to_be_enabled()
    group.get_by_role("button", name="slower").press("Space")
    expect(here.get_by_role("status")).to_contain_text("You guessed “slower”")
    expect(here.get_by_role("status")).to_contain_text("Measured: ")


# --- keeping, showing, finding ---


@pytest.mark.parametrize("other", OTHERS, ids=lambda language: language.code)
def test_a_guess_is_kept_and_not_asked_for_again(context: BrowserContext, base: str, other: Language) -> None:
    page = context.new_page()
    page.goto(base + path(SCALE))
    box(page, SCALE).locator("input").focus()
    page.keyboard.press("End")
    box(page, SCALE).locator(".dl-commit").click()
    before = box(page, SCALE).locator(".dl-verdict").inner_text()
    page.reload()
    assert box(page, SCALE).locator(".dl-verdict").inner_text() == before
    expect(hidden(page, SCALE)).to_be_visible()
    assert is_hidden(hidden(page, TIME)), "another question is still open"
    page.goto(base + path(SCALE, other))
    expect(hidden(page, SCALE)).to_be_visible()
    assert factor(box(page, SCALE).locator(".dl-verdict").inner_text()) == factor(before)
    box(page, SCALE).locator(".dl-again").click()
    page.reload()
    assert is_hidden(hidden(page, SCALE))


def test_it_works_where_storage_is_forbidden_and_sends_nothing(context: BrowserContext, http_base: str) -> None:
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } })"
    )
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(http_base + path(CHOICE), wait_until="networkidle")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    box(page, CHOICE).locator(".dl-choices button").first.click()
    expect(hidden(page, CHOICE)).to_be_visible()
    assert errors == []
    assert [url for url in sent if "favicon" not in url] == []  # which the browser asks for when it likes


def test_a_link_into_what_is_hidden_shows_it(context: BrowserContext, base: str) -> None:
    page = context.new_page()
    page.goto(f"{base}{path(CHOICE)}#claim-compilers-mlp-fit")
    claim = page.locator("#claim-compilers-mlp-fit")
    expect(claim).to_be_in_viewport()
    expect(box(page, CHOICE).locator(".dl-measured")).to_be_visible()
    assert is_hidden(hidden(page, "compilers.graphs-default")), "what is further down is not"
    page.goto(base + path(CHOICE))
    page.reload()
    assert is_hidden(hidden(page, CHOICE)), "who was led there has not been asked yet"
    page.evaluate("location.hash = '#claim-compilers-shapes'")
    expect(page.locator("#claim-compilers-shapes")).to_be_in_viewport()


def test_the_browser_s_own_search_shows_it(context: BrowserContext, http_base: str) -> None:
    """An address with a piece of text lets the browser search the page for it, as Ctrl+F does."""
    page = context.new_page()
    page.goto(http_base + path(CHOICE) + "#:~:text=predicted%20before%20it%20ran")
    expect(page.locator("#claim-compilers-mlp-fit")).to_be_in_viewport()
    expect(box(page, CHOICE).locator(".dl-measured")).to_be_visible()
    assert is_hidden(hidden(page, "compilers.graphs-default"))


TOP = "(box) => box.getBoundingClientRect().top"


@SIZES
def test_nothing_above_moves(browser: Browser, http_base: str, size: Any) -> None:
    """Neither as a page with questions and kept guesses loads, nor when one is answered."""
    context = browser.new_context(viewport=size, locale=FIRST.html)
    page = context.new_page()
    page.goto(http_base + path(SCALE))
    for key in (SCALE, TIME):
        here = box(page, key)
        here.evaluate("(box) => box.scrollIntoView({ block: 'center' })")
        before = here.evaluate(TOP)
        here.locator(".dl-commit").click()
        expect(hidden(page, key)).to_be_visible()
        assert here.evaluate(TOP) == pytest.approx(before, abs=1)
    for anchor in ("", "#hardware-networks"):
        page.goto("about:blank")
        page.goto(http_base + path(SCALE) + anchor)
        assert page.evaluate(SHIFTS) <= 0.02
    context.close()


# --- who has no script, or paper ---


@IN_EVERY_LANGUAGE
def test_without_scripts_nothing_is_hidden(browser: Browser, http_base: str, language: Language) -> None:
    context = browser.new_context(viewport=WIDE, java_script_enabled=False)  # type: ignore[arg-type]
    page = context.new_page()
    for key in (CHOICE, SCALE):
        page.goto(http_base + path(key, language))
        expect(box(page, key).locator(".dl-question")).to_be_visible()
        expect(box(page, key).locator(".dl-measured")).to_be_visible()
        expect(hidden(page, key).locator(".dl-claim")).to_be_visible()
        assert box(page, key).locator("button:visible:enabled, input:visible").count() == 0
    page.goto(http_base + path(CHOICE, language))
    expect(box(page, CHOICE).locator(".dl-choices button").first).to_be_visible()
    context.close()


def test_nothing_is_hidden_where_the_script_does_not_arrive(context: BrowserContext, http_base: str) -> None:
    page = context.new_page()
    page.route("**/predict.js*", lambda route: route.abort())
    page.goto(http_base + path(CHOICE))
    expect(hidden(page, CHOICE).locator(".dl-claim")).to_be_visible()
    expect(box(page, CHOICE).locator(".dl-measured")).to_be_visible()


def test_paper_shows_all(context: BrowserContext, http_base: str) -> None:
    page = context.new_page()
    page.goto(http_base + path(SCALE))
    page.emulate_media(media="print")
    expect(hidden(page, SCALE).locator(".dl-claim")).to_be_visible()
    assert hidden(page, SCALE).evaluate("(part) => part.getBoundingClientRect().height") > 100
    expect(box(page, SCALE).locator(".dl-measured")).to_be_visible()
    expect(box(page, SCALE).locator("input")).to_be_hidden()


# --- every question, and the rules ---


@pytest.mark.parametrize(
    "page", [counterpart(f"{p.path.stem}.html", each) for each, p in every_page(BOOK) if list(asked_on(p))]
)
def test_every_question_asks_and_tells(context: BrowserContext, http_base: str, page: str) -> None:
    tab = context.new_page()
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.goto(http_base + page)
    boxes = tab.locator(".dl-predict")
    source = page_at(BOOK, BOOK.page(language_of(page).code, Path(page).stem))
    keys = [name for _, name, *_ in asked_on(source)]
    assert boxes.count() == len(keys)
    for number in range(boxes.count()):
        here = boxes.nth(number)
        part = here.locator("xpath=following-sibling::*[1]")
        assert is_hidden(part)
        here.locator(".dl-choices button, .dl-commit").first.click()
        expect(part).to_be_visible()
        expect(here.locator(".dl-verdict")).to_be_visible()
        assert "{" not in here.inner_text()
        assert not here.locator(".dl-choices").count() or here.locator("[data-right]").count() >= 1
    assert errors == []


@IN_EVERY_LANGUAGE
@pytest.mark.parametrize("state", ["asked", "told"])
@SCHEMES
def test_breaks_no_rule(context: BrowserContext, http_base: str, language: Language, state: str, scheme: Any) -> None:
    page = context.new_page()
    page.emulate_media(color_scheme=scheme)
    for key in (CHOICE, SCALE):
        page.goto(http_base + path(key, language))
        if state == "told":
            box(page, key).locator(".dl-choices button, .dl-commit").first.click()
        page.evaluate(AXE_SCRIPT)
        assert page.evaluate(BROKEN.replace("document", "'.dl-predict, .dl-predicted'"), RULES) == []


@SIZES
@SCHEMES
def test_it_fits_and_can_be_touched(browser: Browser, http_base: str, size: Any, scheme: Any) -> None:
    context = browser.new_context(viewport=size, color_scheme=scheme, locale=FIRST.html)
    page = context.new_page()
    for key in (CHOICE, SCALE, TIME):
        page.goto(http_base + path(key))
        here = box(page, key)
        outer = here.bounding_box()
        assert outer
        for inner in here.locator("button:visible, input:visible, .dl-ticks span").all():
            found = inner.bounding_box()
            assert found
            assert outer["x"] <= found["x"]
            assert found["x"] + found["width"] <= outer["x"] + outer["width"] + 1
        heights = here.locator("button:visible, input:visible").evaluate_all(
            "(all) => all.map((e) => e.getBoundingClientRect().height)"
        )
        assert min(heights) >= 40
        spans = here.locator(".dl-ticks span").evaluate_all(
            "(all) => all.map((e) => e.getBoundingClientRect()).map((b) => [b.left, b.right])"
        )
        assert all(left[1] < right[0] for left, right in itertools.pairwise(spans)), "numbers overlap"
    context.close()


def test_a_page_without_questions_loads_no_script_for_them(context: BrowserContext, http_base: str) -> None:
    page = context.new_page()
    asked_for: list[str] = []
    page.on("request", lambda request: asked_for.append(request.url))
    page.goto(http_base + "slow.html")
    assert not any("predict.js" in url for url in asked_for)


def test_links_on_other_pages_still_find_their_targets(http_base: str, site: Any) -> None:
    """What is hidden has kept its anchors."""
    assert {"claim-compilers-mlp-fit", "predict-compilers-mlp-speedup"} <= links(site / "compilers.html").ids
