"""Every page of every language, in a real browser: one visit looks at all that a page asks for, says and shows.

Each page is seen twice: served, where every claim held, and as a file, where every claim failed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import (
    NARROW,
    SiteOf,
    counterpart,
    language_of,
    languages,
    pages,
    settle,
)
from tests.browser.links import broken_links
from tests.sites import MADE_UP, SITES

HERE = Path(__file__).parent
WALKER = (HERE / "walker.js").read_text(encoding="utf-8")
CONTRAST = (HERE / "contrast.js").read_text(encoding="utf-8")
FIRST, *OTHERS = languages()
PAGES = pages()

NAMES = """
Python Linux Debian Markdown Sphinx Jupyter Matplotlib Numba Triton Inductor Dynamo Chromium Amdahl Gustafson
Little Williams Hoefler Belli Kalibera Jones Efron Tibshirani Okabe Ito Welford Tukey Intel Apple
Karp Flatt Gloo ms ns kB MiB GiB KiB Gbit Mbit kbit bit min max sin cos log exp sum cpu
cuda float int bool true false None English JavaScript CC BY MIT glibc Graham
ones mul add matmul copy loss item waitall asnumpy split layer grad back apply product
eager reduce overhead autotune dynamic True False if Bekman
Ryzen Skylake Ice Lake Zen Sandy Bridge Blackwell Unix Adam bfloat nm km Ki Mi Tbit mbw fio iperf write allocate gelu
softmax read Snappy Eshelman Optane Omni Path
stem head characters one top dx da Transformer Fashion Llama Mooncake Young Ray
Windows Adagrad Mask Slurm
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
    !(e.getAttribute("aria-label") || e.textContent || e.labels?.[0]?.textContent || "").trim())
    .map((e) => e.outerHTML.slice(0, 100)),
  claims: [...document.querySelectorAll(".dl-claim")].map((claim) =>
    [claim.id, [...claim.querySelectorAll(".dl-verdicts li strong")].map((verdict) => verdict.textContent)]),
  fit: document.scrollingElement.scrollWidth - innerWidth,
  headings: document.querySelectorAll("h1").length,
})"""

NARROW_FACTS = """() => ({
  fit: document.scrollingElement.scrollWidth - innerWidth,
  figures: [...document.querySelectorAll(".dl-figure text")].filter((text) => text.textContent.trim())
    .map((text) => [text, text.getScreenCTM(), parseFloat(getComputedStyle(text).fontSize)])
    .filter(([, m, size]) => size * Math.sqrt(Math.abs(m.a * m.d - m.b * m.c)) < 9)
    .map(([text]) => text.textContent.trim().slice(0, 40)),
  small: [...document.querySelectorAll("button, summary, .dl-head a, .dl-turn a, .dl-begin a, input")]
    .map((element) => [element.getBoundingClientRect(), element])
    .filter(([box]) => box.width && (box.width < 24 || box.height < 24))
    .map(([, element]) => element.outerHTML.slice(0, 100)),
})"""


@dataclass
class Visit:
    """What one look at a page found."""

    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


def visit(page: Page, address: str, plant: str = "") -> Visit:
    """Returns what is found on a page wide and light, then dark, then narrow; ``plant`` is a script run before."""
    found = Visit()
    page.on("request", lambda request: found.requests.append(request.url))
    page.on("console", lambda m: found.errors.append(m.text) if m.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: found.errors.append(str(error)))
    page.on("requestfailed", lambda request: found.errors.append(f"failed: {request.url}"))
    page.emulate_media(color_scheme="light")
    page.goto(address, wait_until="load")
    settle(page)
    if plant:
        page.evaluate(plant)
    found.facts = page.evaluate(FACTS)
    found.facts["foreign words"] = page.evaluate(WALKER, NAMES)
    found.facts["light"] = page.evaluate(CONTRAST, SELECTORS)
    page.emulate_media(color_scheme="dark")
    found.facts["dark"] = page.evaluate(CONTRAST, SELECTORS)
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    found.facts["narrow"] = page.evaluate(NARROW_FACTS)
    return found


def problems(found: Visit, name: str, base: str) -> dict[str, object]:
    """Returns all that is wrong with the page ``name`` of the site at ``base``; what is in order has no entry."""
    facts = found.facts
    paths = {language.html: base + counterpart(name, language) for language in languages()}
    alternates = dict(facts["alternates"])
    here = language_of(name)
    loads_mathjax = any("mathjax" in url for url in found.requests)
    narrow = facts["narrow"]
    wrong = {
        "asks another host": [url for url in found.requests if not url.startswith((base, "data:", "blob:"))],
        "errors": found.errors,
        "images that are not there": facts["images"],
        "formulas not rendered": facts["maths"] - facts["rendered"],
        "formulas with errors": facts["badMaths"],
        "loads MathJax, needs it": name.rpartition("/")[2] != "search.html"
        and loads_mathjax != (facts["maths"] > 0)
        and [loads_mathjax, facts["maths"] > 0],
        "language": facts["lang"] != here.html and facts["lang"],
        "alternates": {tag: urlsplit(url).path for tag, url in alternates.items()}
        != {tag: urlsplit(url).path for tag, url in {**paths, "x-default": paths[FIRST.html]}.items()}
        and alternates,
        "links to other languages": dict(facts["languages"]) != paths and facts["languages"],
        "foreign words": here != FIRST and facts["foreign words"],
        "number of h1": facts["headings"] != 1 and facts["headings"],
        "ids given twice": facts["twice"],
        "nameless": facts["nameless"],
        "title": not facts["title"].strip(),
        "claims without a verdict": [claim for claim, verdicts in facts["claims"] if not verdicts or not all(verdicts)],
        "pixels beyond a wide window": max(facts["fit"], 0),
        "pixels beyond a narrow window": max(narrow["fit"], 0),
        "too small to be touched": narrow["small"],
        "figure labels below 9 px": narrow["figures"],
        "low contrast, light": low(facts["light"]),
        "low contrast, dark": low(facts["dark"]),
    }
    return {what: found for what, found in wrong.items() if found}


def low(contrasts: dict[str, tuple[float, str]]) -> dict[str, tuple[float, str]]:
    """Returns those of the lowest contrasts by selector that are too low."""
    return {key: seen for key, seen in contrasts.items() if seen[0] < (3 if key == ".dl-figure text" else 4.5)}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_where_claims_held(tab: Page, http_base: str, page: str) -> None:
    assert problems(visit(tab, http_base + page), page, http_base) == {}


@pytest.mark.parametrize("page", PAGES)
def test_a_page_where_claims_failed(tab: Page, site_of: SiteOf, page: str) -> None:
    base = site_of("failed").as_uri() + "/"
    assert problems(visit(tab, base + page), page, base) == {}


def test_chinese_pages_show_only_chinese_where_claims_were_not_run(tab: Page, site_of: SiteOf) -> None:
    base = site_of("not-run").as_uri() + "/"
    found = {}
    for page in (page for page in PAGES if language_of(page) != FIRST):
        tab.goto(base + page)
        found[page] = tab.evaluate(WALKER, NAMES)
    assert {page: words for page, words in found.items() if words} == {}


PLANTED = """async () => {
  const article = document.querySelector("article");
  article.insertAdjacentHTML("beforeend", `<h1 id="planted">再来</h1><p id="planted">长</p><button></button>
    <img src="missing.png" alt=""><span class="math">x</span><mjx-merror>坏</mjx-merror><div class="dl-claim"></div>
    <p style="color: #777; background: #888">看不清</p>
    <div style="width: 2000px; height: 1px"></div><div class="dl-figure"><svg viewBox="0 0 9000 90">
    <text style="font-size: 9px">小</text></svg></div><p title="Toggle it">好</p>`);
  document.title = " ";
  document.documentElement.lang = "fr";
  document.querySelector("link[hreflang]").remove();
  document.querySelector(".dl-languages a").remove();
  await fetch("http://localhost:1/", {mode: "no-cors"}).catch(() => 0);
  await Promise.all([...document.images].map((image) => image.complete || new Promise((done) => image.onerror = done)));
}"""


def test_every_fault_is_found(tab: Page, http_base: str) -> None:
    """What the tests above stand on: whatever they look for is found where it is planted, on a page without faults."""
    page = counterpart("references.html", OTHERS[0])
    found = set(problems(visit(tab, http_base + page, PLANTED), page, http_base))
    assert found == {
        *("asks another host", "errors", "images that are not there", "formulas not rendered", "formulas with errors"),
        *("loads MathJax, needs it", "language", "alternates", "links to other languages", "foreign words"),
        *("number of h1", "ids given twice", "nameless", "title", "claims without a verdict"),
        *("pixels beyond a wide window", "pixels beyond a narrow window"),
        *("too small to be touched", "figure labels below 9 px", "low contrast, light", "low contrast, dark"),
    }


def test_the_walker_finds_english(tab: Page, http_base: str) -> None:
    """A page in English has English words; a page in another language has none but a planted label."""
    tab.goto(http_base + "index.html")
    assert len(tab.evaluate(WALKER, NAMES)) > 50
    tab.goto(http_base + counterpart("index.html", OTHERS[0]))
    tab.evaluate("document.querySelector('h2').title = 'Toggle it'")
    assert len(tab.evaluate(WALKER, NAMES)) == 2


@pytest.mark.parametrize("outcome", SITES)
def test_a_site_has_every_page_each_text_by_outcome_and_what_its_links_lead_to(site_of: SiteOf, outcome: str) -> None:
    site = site_of(outcome)
    assert {path.relative_to(site).as_posix() for path in site.rglob("*.html")} == set(PAGES)
    found = {page: broken_links(site, page) for page in PAGES}
    assert {page: broken for page, broken in found.items() if broken} == {}
    assert [page for page in PAGES if "outcome=" in (site / page).read_text(encoding="utf-8")] == []


def test_machines_that_nobody_has_are_shown(site_of: SiteOf) -> None:
    shown = (site_of("failed") / "zh" / "machines.html").read_text(encoding="utf-8")
    assert [name for name in MADE_UP if f'translate="no">{name}<' not in shown] == []
