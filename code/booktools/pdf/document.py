"""One document of all pages of a language: cover, contents, chapters, and the solutions behind them.

A page's ids get the page's name in front, so that none stands twice, and links between pages become links within.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bs4 import BeautifulSoup, Tag

from booktools.look import quoted

Say = Callable[[str], str]
LEFT_OUT = ".headerlink, .dl-begin, .dl-stack, .dl-data, details.hide"
"""What there is on a screen alone: what is pressed, figures for phones, and what a reader unfolds and misses nothing
if not: a figure's data as a table, and the code that hands values to the book."""
NAMES = ("for", "headers", "aria-labelledby", "aria-describedby")
"""Attributes that hold ids."""
SOLUTIONS = "solutions"
CONTENTS = "contents"


@dataclass(frozen=True)
class Site:
    """A built site in one language: the pages in reading order, the first of which is its cover.

    ``address`` is where it stands on the web; empty where that is not known.
    """

    pages: dict[str, str]
    address: str = ""

    @property
    def cover(self) -> str:
        """The name of the first page."""
        return next(iter(self.pages))


def document(site: Site, say: Say) -> str:
    """Returns the book as one HTML document, without its styles; page numbers are still to be filled in."""
    soups = {name: BeautifulSoup(page, "html.parser") for name, page in site.pages.items()}
    chapters = {name: chapter(soup, name, site) for name, soup in soups.items()}
    appendix = solutions(chapters, say)
    first = soups[site.cover]
    title = first.select_one("title").get_text()  # type: ignore[union-attr]
    cover = front(chapters[site.cover], first, say("Left out: code that records and draws, and the data of figures."))
    parts = [*chapters.values(), appendix]
    heads = "".join(_page(f"part{number}", _plain(part) if part.h1 else "") for number, part in enumerate(parts))
    for number, part in enumerate(parts):
        part["style"] = f"page: part{number}"
    heads += _page(CONTENTS, say("Contents"))
    body = [str(cover), contents(parts, say), *map(str, parts)]
    return (
        f'<!DOCTYPE html>\n<html lang="{first.html["lang"]}" style="--dl-book: {html.escape(quoted(title))}">'  # type: ignore[index]
        f'<head><meta charset="utf-8"><title>{html.escape(title)}</title><style>{heads}</style></head>'
        f"<body>{''.join(body)}</body></html>\n"
    )


def chapter(page: BeautifulSoup, name: str, site: Site) -> Tag:
    """Returns what a page shows as a chapter: without what paper cannot do, its ids its own, its links mended."""
    article = page.article
    assert article is not None
    for tag in article.select(LEFT_OUT):
        tag.decompose()
    for cell in article.select(".cell:not(:has(*))"):
        cell.decompose()
    if executed := _executed(page):
        article.append(executed)
    own(article, name)
    mend(article, name, site)
    article["id"], article["class"] = name, "dl-part"
    return article


def _executed(page: BeautifulSoup) -> Tag | None:
    """Returns where and when a page was executed, without the links that precede it; None where nothing says so."""
    taken = page.select_one(".dl-taken")
    if taken is None or taken.time is None:
        return None
    *_, last = taken.find_all("a") or [None]
    for before in [*last.previous_siblings, last] if last else []:
        before.extract()
    opening = taken.find(string=True)
    if opening is not None:
        opening.replace_with(re.sub(r"^[\s·]+", "", str(opening)))
    return taken


def own(article: Tag, name: str) -> None:
    """Puts the page's name before each id in an article, and wherever the article speaks of one."""
    for tag in article.find_all(True):
        for key, value in list(tag.attrs.items()):
            if key == "id":
                tag[key] = f"{name}.{value}"
            elif key in NAMES:
                tag[key] = " ".join(f"{name}.{each}" for each in str(value).split())
            elif key in ("href", "xlink:href") and str(value).startswith("#"):
                tag[key] = f"#{name}.{str(value)[1:]}" if len(value) > 1 else f"#{name}"
            elif isinstance(value, str) and "url(#" in value:
                tag[key] = value.replace("url(#", f"url(#{name}.")


def mend(article: Tag, name: str, site: Site) -> None:
    """Makes links to other pages links within the book; what else the site holds is linked there, or not at all."""
    for link in article.find_all("a", href=True):
        path, _, anchor = str(link["href"]).partition("#")
        if not path or re.match(r"[a-z]+:", path):
            continue
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        page = path.removesuffix(".html")
        if page in site.pages:
            link["href"] = f"#{page}.{anchor}" if anchor else f"#{page}"
        elif site.address:
            link["href"] = site.address + path
        else:
            link.unwrap()


def solutions(chapters: dict[str, Tag], say: Say) -> Tag:
    """Takes the solutions out of all chapters and returns them as one more; exercise and solution link each other."""
    soup = BeautifulSoup("", "html.parser")
    appendix = soup.new_tag("article", attrs={"id": SOLUTIONS, "class": "dl-part dl-solutions"})
    appendix.append(_tag(soup, "h1", say("Solutions")))
    for name, article in chapters.items():
        found = article.select(".dl-solution")
        if not found:
            continue
        section = soup.new_tag("section", attrs={"id": f"{SOLUTIONS}.{name}"})
        section.append(_tag(soup, "h2", heading(article)))
        for solution in found:
            exercise = solution.find_previous_sibling(class_="exercise")
            solution.insert_before(_to(soup, str(solution["id"]), say("Solution on page {page}")))
            section.append(_answer(soup, solution.extract(), exercise["id"] if isinstance(exercise, Tag) else "", say))
        appendix.append(section)
    return appendix


def _answer(soup: BeautifulSoup, solution: Tag, exercise: object, say: Say) -> Tag:
    summary = solution.summary
    assert summary is not None
    title = _tag(soup, "h3", html.escape(summary.get_text(" ", strip=True)))
    summary.replace_with(title)
    if exercise:
        title.insert_after(_to(soup, str(exercise), say("Exercise on page {page}")))
    solution.name = "section"
    return solution


def _tag(soup: BeautifulSoup, name: str, inner: str) -> Tag:
    tag = soup.new_tag(name)
    tag.append(BeautifulSoup(inner, "html.parser"))
    return tag


def _to(soup: BeautifulSoup, identity: str, words: str) -> Tag:
    """Returns a line that leads to an id; its page's number is still to be filled in."""
    before, _, after = words.partition("{page}")
    line = _tag(soup, "p", f'<a href="#{identity}">{before}{FOLIO}{after}</a>')
    line["class"] = "dl-to"
    return line


FOLIO = '<span class="dl-folio"></span>'
"""Where the number of a page is to stand: that to which the link around it leads."""


def heading(article: Tag) -> str:
    """Returns what stands in the first heading of a chapter or section."""
    found = article.find(re.compile("^h[1-6]$"))
    assert isinstance(found, Tag)
    return found.decode_contents().strip()


def contents(parts: Sequence[Tag], say: Say) -> str:
    """Returns the contents of the book, two levels of them; page numbers are still to be filled in."""
    listed = "".join(
        f"<li>{_entry(str(part['id']), heading(part)) if part.h1 else ''}<ol>{''.join(_sections(part))}</ol></li>"
        for part in parts
    )
    return f'<nav class="dl-contents" id="{CONTENTS}"><h2>{say("Contents")}</h2><ol>{listed}</ol></nav>'


def _sections(part: Tag) -> Iterator[str]:
    for each in part.find_all("h2"):
        section = each.find_parent("section")
        assert isinstance(section, Tag)
        yield f"<li>{_entry(str(section['id']), each.decode_contents())}</li>"


def _entry(identity: str, words: str) -> str:
    return f'<a href="#{identity}"><span>{words}</span><i></i>{FOLIO}</a>'


def front(article: Tag, page: BeautifulSoup, note: str) -> Tag:
    """Returns the cover: the sign of the book, its title with what opens its first page, taken out of there, a note."""
    soup = BeautifulSoup("", "html.parser")
    cover = soup.new_tag("section", attrs={"id": f"{article['id']}.cover", "class": "dl-front"})
    found = (page.select_one(".dl-wordmark svg"), article.h1, article.select_one(".dl-opening"))
    for each in (*found, article.select_one(".dl-samples")):
        if each is not None:
            cover.append(each.extract())
    foot = soup.new_tag("footer")
    for line in page.select(".dl-foot p"):
        for link in line.find_all("a"):
            link.decompose()
        foot.append(_tag(soup, "p", html.escape(re.sub(r"[\s·]+$", "", line.get_text()))))
    foot.append(_tag(soup, "p", note))
    cover.append(foot)
    return cover


def _plain(part: Tag) -> str:
    return BeautifulSoup(heading(part), "html.parser").get_text()


def _page(name: str, words: str) -> str:
    """Returns the style of the pages of a part, whose head holds these words."""
    return f"@page {name} {{ @top-left {{ content: {quoted(words)} }} }}\n"
