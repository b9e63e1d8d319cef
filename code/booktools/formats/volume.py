"""One book of the built pages of a language: chapters in reading order, and the solutions of all exercises behind them.

A page's ids get the page's name in front, so that none stands twice in the book. Links between pages become links to
such ids (`#page.id`), whichever file a format puts them into.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bs4 import BeautifulSoup, Tag

from booktools.source.book import Book, BookError, Language

Say = Callable[[str], str]
LEFT_OUT = ".headerlink, .dl-begin, details.hide, .dl-folded > :not(summary), .toctree-wrapper"
"""What a reader of a book misses nothing without: what is pressed, code that only records and draws, and the verdicts
of single machines, of which a summary stays and which the chapter on machines lists."""
ID_LISTS = ("for", "headers", "aria-labelledby", "aria-describedby")
"""Attributes that hold ids."""
SOLUTIONS = "solutions"
"""The name of the chapter behind the pages."""
FOLIO = '<span class="dl-folio"></span>'
"""Stands where a format that has pages puts the number of the page to which the link around it leads."""


@dataclass(frozen=True)
class Volume:
    """A book in one language: what its cover shows, and its chapters by name, each an `article` with one `h1`."""

    title: str
    language: str
    cover: Tag
    chapters: dict[str, Tag]


@dataclass(frozen=True)
class References:
    """What a link to a solution says, and one back to its exercise; a page's number stands in place of ``{page}``."""

    solution: str
    exercise: str


@dataclass(frozen=True)
class Entry:
    """A heading: its level from 1, the id to which a link to it leads, and its text, as HTML and plain."""

    level: int
    id: str
    html: str
    text: str


def read_pages(book: Book, language: Language, site: Path) -> dict[str, str]:
    """Returns the built pages of a language in reading order; BookError where the site lacks one."""
    pages = {}
    for name in book.pages:
        path = site / book.path_on_site(language, name)
        try:
            pages[name] = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise BookError(f"{book.relative(path)}: the site lacks this page: make book, or make preview") from None
    return pages


def make_volume(pages: Mapping[str, str], say: Say, references: References, address: str = "") -> Volume:
    """Returns the book made of pages in reading order, the first of which is the site's cover.

    ``address`` is where the pages stand on the web; without it, links to what the book does not hold become words.
    So do links to what was left out of it.
    """
    soups = {name: BeautifulSoup(page, "html.parser") for name, page in pages.items()}
    articles = {name: _article(soup, name, pages, address) for name, soup in soups.items()}
    first = next(iter(pages))
    cover = _cover(articles[first], soups[first], say)
    articles[SOLUTIONS] = _solutions(articles, say, references)
    _unlink_left_out(articles)
    root = soups[first].html
    assert root is not None
    return Volume(cover.h1.get_text() if cover.h1 else "", str(root["lang"]), cover, articles)


def headings(article: Tag, deepest: int = 3) -> list[Entry]:
    """Returns the headings of a chapter, down to a level."""
    found = []
    for heading in article.find_all(re.compile(f"^h[1-{deepest}]$")):
        holder = heading.find_parent(["section", "article"], id=True)
        assert isinstance(holder, Tag)
        text = " ".join(heading.get_text().split())
        found.append(Entry(int(heading.name[1]), str(holder["id"]), heading.decode_contents().strip(), text))
    return found


def make_tag(name: str, inner: str, **attributes: str) -> Tag:
    """Returns a new element that holds a piece of HTML."""
    tag = BeautifulSoup("", "html.parser").new_tag(name, attrs=attributes)
    tag.append(BeautifulSoup(inner, "html.parser"))
    return tag


def _article(page: BeautifulSoup, name: str, pages: Mapping[str, str], address: str) -> Tag:
    """Returns what a page shows, as a chapter."""
    article = page.article
    assert article is not None, name
    for tag in article.select(LEFT_OUT):
        tag.decompose()
    for cell in article.select(".cell:not(:has(*))"):
        cell.decompose()
    for folded in article.select(".dl-folded"):
        folded.name = "div"
        assert folded.summary is not None
        folded.summary.name = "p"
    _own_ids(article, name)
    _mend_links(article, name, pages, address)
    article["id"], article["class"] = name, "dl-chapter"
    return article


def _own_ids(article: Tag, name: str) -> None:
    """Puts the page's name before each id in an article, and wherever the article speaks of one."""
    for tag in article.find_all(True):
        for key, value in list(tag.attrs.items()):
            if key == "id":
                tag[key] = f"{name}.{value}"
            elif key in ID_LISTS:
                tag[key] = " ".join(f"{name}.{each}" for each in str(value).split())
            elif key in ("href", "xlink:href") and str(value).startswith("#"):
                tag[key] = f"#{name}.{str(value)[1:]}" if len(str(value)) > 1 else f"#{name}"
            elif isinstance(value, str) and "url(#" in value:
                tag[key] = value.replace("url(#", f"url(#{name}.")


def _mend_links(article: Tag, name: str, pages: Mapping[str, str], address: str) -> None:
    """Makes links to other pages links within the book; what else the site holds is linked there, or not at all."""
    for link in article.find_all("a", href=True):
        path, _, anchor = str(link["href"]).partition("#")
        if not path or re.match(r"[a-z]+:", path):
            continue
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        page = path.removesuffix(".html")
        if page in pages:
            link["href"] = f"#{page}.{anchor}" if anchor else f"#{page}"
        elif address:
            link["href"] = address + path
        else:
            link.unwrap()


def _cover(article: Tag, page: BeautifulSoup, say: Say) -> Tag:
    """Returns the cover: sign, title and opening, taken out of the first page, which becomes a chapter like others."""
    cover = make_tag("section", "", id="cover")
    title = article.h1
    assert title is not None
    title.insert_before(make_tag("h1", html.escape(say("About this book"))))
    parts = (page.select_one(".dl-wordmark svg"), title, article.select_one(".dl-opening"))
    for part in (*parts, article.select_one(".dl-samples"), article.select_one(".dl-recorded")):
        if part is not None:
            cover.append(part.extract())
    foot = make_tag("footer", "")
    for line in page.select(".dl-foot p:not(:has(a))"):
        foot.append(make_tag("p", html.escape(" ".join(line.get_text().split()))))
    foot.append(make_tag("p", html.escape(say("Left out here: code that only records and draws. The site shows it."))))
    cover.append(foot)
    return cover


def _solutions(articles: Mapping[str, Tag], say: Say, references: References) -> Tag:
    """Takes the solutions out of all chapters and returns them as one more; exercise and solution link each other."""
    appendix = make_tag("article", f"<h1>{html.escape(say('Solutions'))}</h1>", id=SOLUTIONS)
    appendix["class"] = "dl-chapter dl-solutions"
    for name, article in articles.items():
        if found := article.select(".dl-solution"):
            title = headings(article, 1)[0].html
            section = make_tag("section", f"<h2>{title}</h2>", id=f"{SOLUTIONS}.{name}")
            for solution in found:
                section.append(_solution(solution, say, references))
            appendix.append(section)
    return appendix


def _solution(solution: Tag, say: Say, references: References) -> Tag:
    """Takes a solution out of its chapter; a link to it stays there, and leads back from it."""
    exercise, summary = solution.find_previous_sibling(class_="exercise"), solution.summary
    assert summary is not None
    solution.insert_before(_reference(str(solution["id"]), say(references.solution)))
    title = make_tag("h3", html.escape(" ".join(summary.get_text(" ", strip=True).split())))
    summary.replace_with(title)
    if isinstance(exercise, Tag):
        title.insert_after(_reference(str(exercise["id"]), say(references.exercise)))
    solution.name = "section"
    return solution.extract()


def _reference(target: str, words: str) -> Tag:
    return make_tag("p", f'<a href="#{target}">{html.escape(words).replace("{page}", FOLIO)}</a>', **{"class": "dl-to"})


def _unlink_left_out(articles: Mapping[str, Tag]) -> None:
    """Makes words of links to ids that no chapter has."""
    ids = {str(tag["id"]) for article in articles.values() for tag in [article, *article.find_all(id=True)]}
    for article in articles.values():
        for link in article.select('a[href^="#"]'):
            if str(link["href"])[1:] not in ids:
                link.unwrap()
