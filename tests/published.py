"""What is checked of a site before it is published: ``python -m tests.published _build/html`` (`make publish`).

Every link within the site leads somewhere, no page loads anything from another host, every language has every page,
and no file, nor all of them, is larger than Pages takes. Links to other hosts are the weekly run's.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from booktools.source.book import Book
from tests.browser.links import broken_links

SITE_BYTES = 2**30
"""What Pages takes in all: https://docs.github.com/en/pages/getting-started-with-github-pages/github-pages-limits."""
FILE_BYTES = 100 * 2**20
"""What git and the tool that packs the site for Pages take without question."""
PAGE_BYTES = 8 * 2**20
"""The largest page that a reader should have to wait for: six seconds at 10 Mbit/s."""
LOADING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "audio": "src", "video": "src"}
LOADING |= {"embed": "src", "object": "data", "input": "src", "image": "href"}
RELATIONS = {"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload", "manifest"}
"""What a ``link`` may be that a browser loads; ``canonical`` and ``alternate`` it does not."""
FOREIGN = re.compile(r"(?:https?:)?//")
IN_STYLES = re.compile(r"(?:@import\s+|url\()\s*[\"']?((?:https?:)?//[^\"')\s;]+)")


class Loaded(HTMLParser):
    """The addresses on other hosts from which a page loads something as it is opened."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = IN_STYLES.findall(text)
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        targets = [given.get(LOADING.get(tag, ""), "")]
        targets += [each.split()[0] for each in given.get("srcset", "").split(",") if each.strip()]
        if tag == "link" and RELATIONS & set(given.get("rel", "").split()):
            targets.append(given.get("href", ""))
        self.found += [target for target in targets if FOREIGN.match(target)]


def foreign_requests(path: Path) -> list[str]:
    """Returns the addresses on other hosts from which a page or style sheet loads something."""
    text = path.read_text(encoding="utf-8")
    return Loaded(text).found if path.suffix == ".html" else IN_STYLES.findall(text)


def problems(site: Path, pages: list[str], languages: list[str]) -> Iterator[str]:
    """Yields what is wrong with a site: ``pages`` by name in each of ``languages``, the first one at the root."""
    for code in languages:
        folder = site if code == languages[0] else site / code
        for name in pages:
            if not (folder / f"{name}.html").is_file():
                yield f"{folder.relative_to(site) / name}.html: no such page in the language {code}"
    files = sorted(path for path in site.rglob("*") if path.is_file())
    for path in files:
        name, size = path.relative_to(site).as_posix(), path.stat().st_size
        limit = PAGE_BYTES if path.suffix == ".html" else FILE_BYTES
        if size > limit:
            yield f"{name}: {size / 2**20:.0f} MiB, where {limit / 2**20:.0f} are the most"
        if path.suffix in (".html", ".css"):
            yield from (f"{name}: asks another host: {address}" for address in foreign_requests(path))
        if path.suffix == ".html":
            yield from (f"{name}: leads nowhere: {target}" for target in broken_links(site, name))
    if (total := sum(path.stat().st_size for path in files)) > SITE_BYTES:
        yield f"{total / 2**30:.1f} GiB in all, where {SITE_BYTES / 2**30:.0f} is the most"


def main(arguments: list[str]) -> int:
    """Prints what is wrong with the site in the folder that is named; returns the exit status."""
    book, site = Book.find(), Path(arguments[0])
    found = list(problems(site, list(book.pages), [language.code for language in book.languages]))
    print("\n".join(found) or f"{site}: links, requests and sizes are in order.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
