"""Where the pages of a built site lead."""

from __future__ import annotations

import functools
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit


class Links(HTMLParser):
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
def links(path: Path) -> Links:
    """Returns the links of a page, read once."""
    return Links(path.read_text(encoding="utf-8"))


def broken_links(site: Path, page: str) -> list[str]:
    """Returns what a page refers to and the site does not have; what would leave a sub-path is broken, too."""
    broken = []
    for target in links(site / page).targets:
        if re.match(r"(https?|mailto|data):", target):
            continue
        parts = urlsplit(urljoin(page, target))
        path = site / (unquote(parts.path) or page)
        anchor = unquote(parts.fragment) if path.suffix == ".html" else ""
        if target.startswith("/") or not path.is_file() or (anchor and anchor not in links(path).ids):
            broken.append(target)
    return broken
