"""Build the search index: the text of each section, and for Chinese pages an index of words.

Sphinx's own Chinese search cuts the text into words by a dictionary but leaves the query whole, so
that a phrase finds nothing. Han characters need no index: the search page looks for them in the text
as they stand (`theme/static/search.js`). Left for the index are the words in Latin letters, by their stems.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.search.en import SearchEnglish

_WORD = re.compile(r"[A-Za-z0-9_\u00b5\u00c0-\u024f\u0370-\u03ff]+")


class SearchHan(SearchEnglish):
    """Sphinx's search for a language of Han characters with English words in between."""

    lang = "zh_CN"
    language_name = "Chinese"

    def split(self, input: str) -> list[str]:
        """Returns the words in Latin letters, also those that touch a Han character."""
        return _WORD.findall(input)


def _read(app: Sphinx, doctree: nodes.document) -> None:
    """Keeps each section of a page as (page, anchor, heading, text): what the search page looks through and quotes."""
    found = []
    for section in doctree.findall(nodes.section):
        if isinstance(section[0], nodes.title):
            own = [child.deepcopy() for child in section[1:] if not isinstance(child, nodes.section)]
            found.append([app.env.docname, section["ids"][0], section[0].astext(), _plain(nodes.container("", *own))])
    _texts(app.env)[app.env.docname] = found


def _texts(env: BuildEnvironment) -> dict[str, list[list[str]]]:
    if not hasattr(env, "booktools_texts"):
        env.booktools_texts = {}  # type: ignore[attr-defined]
    return env.booktools_texts  # type: ignore[attr-defined]


def _plain(content: nodes.Element) -> str:
    """Returns the text of a section as one line, without pictures, display formulas and their numbers.

    Nor with what docutils has to say of the section, which pages leave out: it names the file, and so its folder.
    """
    for node in list(content.findall()):
        numbered = isinstance(node, pending_xref) and node.get("reftype") in ("eq", "numref")
        unsaid = isinstance(node, nodes.raw | nodes.math_block | nodes.system_message)
        if (numbered or unsaid) and node.parent is not None:
            node.parent.remove(node)
    text = " ".join(child.astext() for child in content)
    return re.sub(r"(?<=[，。、；：？！）”]) ", "", re.sub(r"\s+", " ", text)).strip()


def _finish(app: Sphinx, error: Exception | None) -> None:
    """Writes the text of all sections beside the search page."""
    if error is not None or app.builder.format != "html":
        return
    sections = [section for _, page in sorted(_texts(app.env).items()) for section in page]
    texts = json.dumps(sections, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    (Path(app.outdir) / "_static" / "texts.js").write_text(f"window.DL_TEXTS={texts};\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Registers the search language, and what keeps and writes the texts."""
    app.add_search_language(SearchHan)
    app.connect("doctree-read", _read, priority=990)
    app.connect("env-purge-doc", lambda app, env, page: _texts(env).pop(page, None))
    app.connect("build-finished", _finish, priority=800)
