"""Search in Chinese: pairs of Han characters, in the index and in the query alike.

Sphinx's own Chinese search cuts the text into words by a dictionary but leaves the query whole, so
that a phrase finds nothing. Pairs need no dictionary, and index and query cannot disagree. The
index is a script, so search also works from a file.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_RUNS = re.compile(rf"[{_HAN}]+|[A-Za-z0-9_\u00b5\u00c0-\u024f\u0370-\u03ff]+")
_IS_HAN = re.compile(rf"[{_HAN}]")

_SPLITTER = """
function splitQuery(query) {
    const han = "\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff";
    const runs = new RegExp(`[${han}]+|[^${han}]+`, "g");
    const terms = [];
    for (const word of query.split(/[^\\p{Letter}\\p{Number}_]+/u)) {
        for (const run of word.match(runs) || []) {
            if (run.length === 1 || !run.match(`^[${han}]`)) terms.push(run);
            else for (let i = 0; i + 1 < run.length; i++) terms.push(run.slice(i, i + 2));
        }
    }
    return terms;
}
"""


def pairs(text: str) -> list[str]:
    """Returns the terms of a text: words as they are; of a run of Han characters, each and each adjacent pair."""
    terms: list[str] = []
    for run in _RUNS.findall(text):
        if _IS_HAN.match(run):
            terms.extend(run)
            terms.extend(run[i : i + 2] for i in range(len(run) - 1))
        else:
            terms.append(run)
    return terms


class SearchHan(SearchEnglish):
    """Sphinx's search for a language of Han characters with English words in between."""

    lang = "zh_CN"
    language_name = "Chinese"
    js_splitter_code = _SPLITTER

    def split(self, input: str) -> list[str]:
        return pairs(input)

    def word_filter(self, stemmed_word: str) -> bool:
        return bool(_IS_HAN.match(stemmed_word)) or super().word_filter(stemmed_word)


def setup(app: Sphinx) -> None:
    """Registers the search language."""
    app.add_search_language(SearchHan)
