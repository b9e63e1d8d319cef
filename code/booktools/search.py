"""What searching looks through: the text of each section and each term of the glossary, and what readers call a term.

Two scripts beside the pages hold it, so that search works from a file too: `texts.js` and `terms.js`. The
page's own scripts index and search them (`theme/static/find.js`), so Sphinx's index is not built at all.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import glossary, pending_xref
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.search.en import english_stopwords, js_porter_stemmer
from sphinx_exercise.nodes import solution_title

from booktools.book import Book
from booktools.edition import current

_LABEL = re.compile("\ue000(.*?)\ue001")
"""How a text keeps a reference whose title is known once all pages are read: its label between two private letters."""
_NUMBERS = {"dl-verdicts", "dl-table-box", "dl-measured"}
"""The classes of what shows values, machine by machine."""
_STRINGS = re.compile(r'"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'')
_COMMENT = re.compile(r"#.*")
_NAME = re.compile(r"[A-Za-z_][\w.]*(?:-[A-Za-z]\w*)*")


def sections(doctree: nodes.document, page: str) -> list[list[str]]:
    """Returns the sections of a page, and the terms that it explains: page, anchor, title, text, names in its code."""
    found = []
    for section in doctree.findall(nodes.section):
        if isinstance(section[0], nodes.title):
            own = nodes.container("", *(each.deepcopy() for each in section[1:] if not isinstance(each, nodes.section)))
            named = names(own)  # first, since `plain` takes the code out
            found.append([page, section["ids"][0], section[0].astext(), plain(own), named])
    for entry in doctree.findall(nodes.definition_list_item):
        for term in entry.findall(nodes.term):
            if term["ids"] and isinstance(entry.parent.parent, glossary):
                explained = next(entry.findall(nodes.definition)).deepcopy()
                found.append([page, term["ids"][0], term.astext(), plain(explained), ""])
    return found


def plain(content: nodes.Element) -> str:
    """Returns a section's text as one line: no code, no output, no formula of its own line, no citation, no number."""
    for node in list(content.findall()):
        if node.parent is None:
            continue
        if isinstance(node, pending_xref) and node["reftype"] in ("ref", "doc") and not node["refexplicit"]:
            node.parent.replace(node, nodes.Text(f"\ue000{node['reftarget']}\ue001"))
        elif isinstance(node, nodes.math):
            node.parent.replace(node, nodes.Text(_formula(node.astext())))
        elif _unread(node):
            node.parent.remove(node)
    text = re.sub(r"\s+", " ", " ".join(child.astext() for child in content))
    return re.sub(r"(?<=[，。、；：？！）”]) | (?=[.,;:)，。、；：？！）](?:\s|$))", "", text).strip()


def _unread(node: nodes.Node) -> bool:
    """Returns whether a node is nothing to quote: a picture, code, a citation, values, terms, which stand alone."""
    if isinstance(node, pending_xref):
        return node["refdomain"] == "cite" or node["reftype"] in ("eq", "numref")
    if isinstance(node, nodes.Element) and not _NUMBERS.isdisjoint(node.get("classes", ())):
        return True
    unread = nodes.raw | nodes.math_block | nodes.literal_block | nodes.comment | glossary | solution_title
    return isinstance(node, unread)


def _formula(tex: str) -> str:
    """Returns a short formula as letters: what TeX needs besides is no text."""
    return re.sub(r"\\(?:mathrm|text|mathbf|left|right)\b|[\\{}$]", "", tex).strip()


def names(content: nodes.Element) -> str:
    """Returns the names in the code of a section, each once, without comments and strings."""
    found: dict[str, None] = {}
    for block in content.findall(nodes.literal_block):
        if "output" not in block["classes"]:
            code = _COMMENT.sub("", _STRINGS.sub("", block.astext()))
            found |= dict.fromkeys(name for name in _NAME.findall(code) if len(name) > 2)
    return " ".join(found)


def synonyms(book: Book, code: str) -> list[list[str]]:
    """Returns, for a language, each term of `terms.csv` before what readers may call it, in any language."""
    others = [language.code for language in book.languages if language.code != code]
    with (book.chapters / "terms.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.get(code)]
    listed = [
        [*row[code].split("|")[:1], *(word for name in (*others, "also") for word in _words(row, name))] for row in rows
    ]
    return [words for words in listed if len(words) > 1]


def _words(row: dict[str, str], name: str) -> list[str]:
    return [word.strip() for word in (row.get(name) or "").split("|") if word.strip()]


def _configure(app: Sphinx, config: Config) -> None:
    config.html_context["search_language_stop_words"] = json.dumps(sorted(english_stopwords))
    config.html_context["search_language_stemming_code"] = js_porter_stemmer


def _without_index(app: Sphinx) -> None:
    app.builder.search = False  # type: ignore[attr-defined]


def _page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yields the search page, which Sphinx writes only with an index of its own."""
    yield "search", {}, "search.html"


def _read(app: Sphinx, doctree: nodes.document) -> None:
    texts(app.env)[app.env.docname] = sections(doctree, app.env.docname)


def texts(env: BuildEnvironment) -> dict[str, list[list[str]]]:
    """Returns what `sections` found on each page, as far as it has been read."""
    if not hasattr(env, "booktools_texts"):
        env.booktools_texts = {}  # type: ignore[attr-defined]
    return env.booktools_texts  # type: ignore[attr-defined]


def titled(env: BuildEnvironment, text: str) -> str:
    """Returns a text with the titles of the sections that it refers to."""
    labels = env.get_domain("std").labels  # type: ignore[attr-defined]
    return _LABEL.sub(lambda match: labels.get(match[1].lower(), ("", "", ""))[2], text)


def _finish(app: Sphinx, error: Exception | None) -> None:
    """Writes what searching looks through beside the pages."""
    if error is not None or app.builder.format != "html":
        return
    every = [section for _, page in sorted(texts(app.env).items()) for section in page]
    _write(app, "texts", [[*section[:3], titled(app.env, section[3]), section[4]] for section in every])
    _write(app, "terms", synonyms(current().book, current().language.code))
    (Path(app.outdir) / "searchindex.js").unlink(missing_ok=True)  # of builds before search had no use for it


def _write(app: Sphinx, name: str, value: object) -> None:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    (Path(app.outdir) / "_static" / f"{name}.js").write_text(f"window.DL_{name.upper()}={text};\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Registers what keeps and writes the texts."""
    app.connect("config-inited", _configure)
    app.connect("builder-inited", _without_index)
    app.connect("html-collect-pages", _page)
    app.connect("doctree-read", _read, priority=990)
    app.connect("env-purge-doc", lambda app, env, page: texts(env).pop(page, None))
    app.connect("build-finished", _finish, priority=800)
