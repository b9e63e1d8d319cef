"""The search index of Chinese pages: the words in Latin letters, by their stems.

Sphinx's own Chinese search cuts the text into words by a dictionary but leaves the query whole, so
that a phrase finds nothing. Han characters need no index: the search page looks for them in the text
as they stand (`theme/static/search.js`). Left for the index are the English words in between.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

_WORD = re.compile(r"[A-Za-z0-9_\u00b5\u00c0-\u024f\u0370-\u03ff]+")


class SearchHan(SearchEnglish):
    """Sphinx's search for a language of Han characters with English words in between."""

    lang = "zh_CN"
    language_name = "Chinese"

    def split(self, input: str) -> list[str]:
        """Returns the words in Latin letters, also those that touch a Han character."""
        return _WORD.findall(input)


def setup(app: Sphinx) -> None:
    """Registers the search language."""
    app.add_search_language(SearchHan)
