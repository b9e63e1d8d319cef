"""What each block of a page says in another language, for the page's script to set beside it (`theme/static/both.js`).

Beside the pages stands one script for each, `_static/twins/<page>.js`: a script, since a page that is opened as a file
may load nothing else. It holds prose and captions; code, figures, formulas and measured values are in the page.
"""

from __future__ import annotations

import functools
import json
import posixpath
import re
from dataclasses import dataclass
from urllib.parse import unquote

from booktools.book import Book, BookError, Language
from booktools.edition import html_of, work
from booktools.numbering import Shown, blocks

FOLDER = "_static/twins"
PROSE = frozenset({"p", "li", "dt", "dd", "blockquote"})
HEADINGS = frozenset({"h1", "h2", "h3", "h4"})
WORDED = frozenset(
    {"dl-summary", "dl-claim", "exercise", "admonition", "dl-opening", "dl-facts", "dl-map", "dl-samples", "dl-predict"}
)
"""Classes of what is prose as a whole."""
_UNSAID = re.compile(
    r'<svg\b.*?</svg>|<ul class="dl-verdicts.*?</ul>|<a class="headerlink".*?</a>|<p class="dl-scale".*?</p>', re.S
)
"""What a twin leaves out: what the page shows already, and links to a place that is the page's own."""
_TAG = re.compile(r'<[a-zA-Z](?:[^<>"]|"[^"]*")*>')
_OWN = re.compile(r' (?:id|data-block|aria-labelledby|aria-describedby)="[^"]*"')
_LINK = re.compile(r'(?<= )(href|src)="([^"]*)"')
_QUESTION = re.compile(r'<div class="dl-question[^>]*>(.*?)</div>', re.S)
_CHOICE = re.compile(r"<button[^>]*>(<span>.*?)</button>", re.S)
_CAPTION = re.compile(r"<figcaption[^>]*>(.*)</figcaption>", re.S)
_ID, _LABEL = re.compile(r' id="([^"]*)"'), re.compile(r' aria-label="[^"]*"')


@dataclass(frozen=True)
class Article:
    """The text of a page in one language, and where on the site the page stands."""

    html: str
    address: str
    language: Language

    @functools.cached_property
    def blocks(self) -> list[Shown]:
        """The blocks of the page in order."""
        return blocks(self.html)

    @functools.cached_property
    def ids(self) -> frozenset[str]:
        """The anchors of the page."""
        return frozenset(_ID.findall(self.html))


def twin_of(book: Book, language: Language) -> Language | None:
    """Returns the language that stands beside this one: the first, beside which stands the second."""
    first, *others = book.languages
    return first if language != first else next(iter(others), None)


def write(book: Book, name: str) -> None:
    """Writes the twins of all pages beside them; BookError where two languages do not align."""
    for language in book.languages:
        if (other := twin_of(book, language)) is None:
            continue
        folder, written = html_of(book, language, name) / FOLDER, set()
        for page in book.pages:
            path = folder / f"{page}.js"
            path.parent.mkdir(parents=True, exist_ok=True)
            ours, theirs = (_article(book, each, name, page) for each in (language, other))
            path.write_text(script(ours, theirs, page), encoding="utf-8")
            written.add(path)
        for path in set(folder.rglob("*.js")) - written:
            path.unlink()


def _article(book: Book, language: Language, name: str, page: str) -> Article:
    path = html_of(book, language, name) / f"{page}.html"
    html = path.read_text(encoding="utf-8")
    html = html[html.index("<article>") + len("<article>") : html.rindex("</article>")]
    return Article(html, path.relative_to(work(book, name) / "html").as_posix(), language)


def script(ours: Article, theirs: Article, page: str) -> str:
    """Returns the script for a page: the twins of its blocks by the blocks' names."""
    said = {own.name: twin(its, theirs, ours) for own, its in pairs(ours, theirs, page)}
    text = json.dumps({key: html for key, html in said.items() if html}, ensure_ascii=False, separators=(",", ":"))
    return f"window.DL_TWINS={text};\n"


def pairs(ours: Article, theirs: Article, page: str) -> list[tuple[Shown, Shown]]:
    """Returns the blocks of a page, each with its twin; BookError names the first that has none of its kind."""
    here, there = ours.language.name, theirs.language.name
    for a, b in zip(ours.blocks, theirs.blocks, strict=False):
        if a.kind != b.kind:
            raise BookError(f"{page}: block {a.name} is shown as {a.kind} in {here} and as {b.kind} in {there}")
    if len(ours.blocks) != len(theirs.blocks):
        raise BookError(
            f"{page}: is shown in {len(ours.blocks)} blocks in {here} and in {len(theirs.blocks)} in {there}"
        )
    return list(zip(ours.blocks, theirs.blocks, strict=True))


def is_prose(block: Shown, html: str) -> bool:
    """Returns whether a block says something that it says in another language as well.

    A table does where it was written; those of measured values have the class `dl-table`.
    """
    if block.tag in PROSE | HEADINGS:
        return "dl-download" not in block.classes
    if block.tag in ("figure", "nav"):
        return True
    if block.tag == "table":
        return "dl-table" not in block.classes
    if "dl-table-box" in block.classes:
        return '<table class="docutils' in html
    return not WORDED.isdisjoint(block.classes)


def twin(block: Shown, theirs: Article, ours: Article) -> str:
    """Returns what stands beside our page's block: the other page's, without what is shown already; of a figure its
    caption, of what is no prose nothing. What is too wide for half a page gets a class by which it stands below."""
    html = theirs.html[block.start : block.end]
    if not is_prose(block, html):
        return ""
    tag, classes, more = block.tag, ["dl-twin", *block.classes], ""
    if tag == "figure":
        if not (caption := _CAPTION.search(html)):
            return ""
        tag, html, classes = "div", f"<div>{caption[1]}</div>", ["dl-twin", "dl-caption"]
    elif "dl-predict" in classes:
        tag, html, classes = "div", _question(html), ["dl-twin", "dl-asked"]
    elif tag in HEADINGS:
        more = ' role="none"'  # the page has this heading already
    elif tag in ("nav", "table") or "dl-table-box" in classes:
        classes.append("dl-across")
    if label := _LABEL.search(html[: html.index(">")]):
        more += label[0]
    html = _TAG.sub(lambda match: _moved(match[0], theirs, ours), _UNSAID.sub("", html))
    opening = f'<{tag} class="{" ".join(classes)}" lang="{theirs.language.html}"{more}>'
    return opening + html[html.index(">") + 1 :]


def _question(html: str) -> str:
    """Returns what a question asks, and among what: there is one answer, which the page shows when it is its time."""
    asked = _QUESTION.search(html)
    choices = "".join(f"<li>{choice}</li>" for choice in _CHOICE.findall(html) if "<span>" in choice)
    return f"<div>{asked[1] if asked else ''}{f'<ul>{choices}</ul>' if choices else ''}</div>"


def _moved(tag: str, theirs: Article, ours: Article) -> str:
    """Returns a tag without anchors, and with links as they are seen from our page."""
    return _LINK.sub(lambda link: f'{link[1]}="{address(link[2], theirs, ours)}"', _OWN.sub("", tag))


def address(link: str, theirs: Article, ours: Article) -> str:
    """Returns where a link of the other page leads from ours; one to an anchor that both have stays on the page."""
    if re.match(r"[a-z]+:|//", link):
        return link
    path, mark, anchor = link.partition("#")
    if not path and (not anchor or unquote(anchor) in ours.ids):
        return link
    target = posixpath.join(posixpath.dirname(theirs.address), path) if path else theirs.address
    return posixpath.relpath(target, posixpath.dirname(ours.address) or ".") + mark + anchor
