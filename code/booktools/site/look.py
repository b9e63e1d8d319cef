"""Register the book's own theme (folder ``theme``) and fill its templates, in each language.

The theme is three templates, a style sheet and two scripts; nothing of Jupyter Book's stock theme
reaches a page. Every string in a template goes through ``say``, that is through the catalogue of the
page's language, and one that is missing there fails the build like a label's.
"""

from __future__ import annotations

import contextlib
import functools
import gettext
import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import locale
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.environment.adapters.toctree import TocTree
from sphinx.transforms import SphinxTransform
from sphinx_exercise.nodes import solution_node

from booktools.show.edition import current, doctrees_of, labels_of
from booktools.show.render import report_missing
from booktools.source.book import Book, Language
from booktools.source.cache import digest_of_files

THEME = Path(__file__).resolve().parent / "theme"
CONTENTS_DEPTH = 2
"""Levels of headings that the contents of a page list."""
SUMMARY = re.compile(
    r'<summary aria-label="Toggle hidden content">\s*<p class="collapsed[^>]*>(.*?)</p>.*?</summary>', re.S
)
"""What MyST-NB puts over a folded cell: two titles, and for whoever has it read out a third in English."""


class Anchors(SphinxTransform):
    """Gives a section the label before it as its only anchor: the one that Sphinx makes of the heading is
    another in each language."""

    default_priority = 700

    def apply(self, **kwargs: Any) -> None:
        names, explicit = self.document.nameids, self.document.nametypes
        labels = {identity for name, identity in names.items() if identity and explicit.get(name)}
        for section in self.document.findall(nodes.section):
            section["ids"] = [identity for identity in section["ids"] if identity in labels] or section["ids"]


class NameImports(SphinxTransform):
    """Names the fold of a cell that imports and records nothing: there a reader looks for what shown cells use."""

    default_priority = 405

    def apply(self, **kwargs: Any) -> None:
        for cell in self.document.findall(nodes.container):
            if cell.get("hide_mode") == "input" and cell.children and only_imports(cell.children[0].astext()):
                cell["prompt_show"] = cell["prompt_hide"] = current().catalogue.translate("Imports and settings")
                report_missing(cell)


def only_imports(code: str) -> bool:
    """Returns whether a cell imports something at its top, and hands no value to the book."""
    return bool(re.search(r"^(?:import|from) ", code, re.M)) and not re.search(r"^\s*record\(", code, re.M)


class Fallback(gettext.NullTranslations):
    """The book's catalogue, for what Sphinx and its extensions say but do not translate themselves."""

    def __init__(self, entries: dict[str, str]) -> None:
        super().__init__()
        self.entries = entries

    def gettext(self, message: str) -> str:
        return self.entries.get(message, message)


def _configure(app: Sphinx, config: Config) -> None:
    labels = current().catalogue
    say = labels.translate
    config.html_theme, config.html_theme_options = "book", {}
    config.project = config.html_title = config.html_short_title = say(config.html_title or config.project)
    config.author = say(config.author)
    config.html_use_index = config.html_domain_indices = False
    config.html_copy_source = config.html_show_sourcelink = False
    config.html_permalinks_icon = "§"
    config["nb_code_prompt_show"] = config["nb_code_prompt_hide"] = say("Code that records and draws")
    report_missing("_config.yml")
    fallback = Fallback(labels.entries)
    for translation in locale.translators.values():
        translation.add_fallback(fallback)


def _page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Gives the templates what they show beyond the page's body."""
    book, here = current().book, current().language
    root = context["content_root"] + ("" if here == book.languages[0] else "../")
    context["here"], context["site_root"] = here, root
    context["author"] = app.config.author
    context["languages"] = [_in_language(app.config, book, each, here, pagename, root) for each in book.languages]
    context["say"] = current().catalogue.translate
    context["mark"] = mark_of_files()
    context["has_math"] = 'class="math ' in context.get("body", "")
    context["contents"] = _contents(app, pagename) if doctree is not None and pagename != app.config.root_doc else ""
    context["description"] = _description(doctree)
    if "body" in context:
        context["body"] = _clean(context["body"])


@functools.cache
def mark_of_files() -> str:
    """Returns what follows the address of a script or style sheet, so that no browser keeps an old one.

    Their content alone decides: a site has the same bytes wherever it is built.
    """
    return digest_of_files(THEME, (THEME / "static").iterdir())[:8]


def _in_language(
    config: Config, book: Book, language: Language, here: Language, pagename: str, root: str
) -> dict[str, Any]:
    """Returns what a page says of itself in one language; ``hint`` and ``close`` are in that language."""
    path = book.path_on_site(language, pagename)
    say = labels_of(book, language).translate
    base = config.html_baseurl.rstrip("/")
    return {
        "html": language.html,
        "name": language.name,
        "current": language == here,
        "href": root + path,
        "address": f"{base}/{path}" if base else root + path,
        "hint": say("This page can be read in your language:"),
        "close": say("Close"),
    }


def _contents(app: Sphinx, pagename: str) -> str:
    """Returns the headings below the page's own as a list of links; nothing where there are fewer than two."""
    top = TocTree(app.env).get_toc_for(pagename, app.builder)
    inner = next((node for node in top.findall(nodes.bullet_list) if node is not top), None)
    if inner is None or len(inner) < 2:
        return ""
    for node in list(inner.findall(nodes.bullet_list)):
        if node is not inner and _depth(node, inner) >= CONTENTS_DEPTH:
            node.parent.remove(node)
    return app.builder.render_partial(inner)["fragment"]  # type: ignore[attr-defined]


def _depth(node: nodes.Node, top: nodes.Node) -> int:
    depth = 0
    while node is not top and node.parent is not None:
        node = node.parent
        depth += isinstance(node, nodes.bullet_list)
    return depth


def _description(doctree: nodes.document | None) -> str:
    """Returns the page's first paragraph of its own without citations, as search engines show it."""
    if doctree is None:
        return ""
    paragraphs = (p for p in doctree.findall(nodes.paragraph) if not isinstance(p.parent, nodes.Admonition))
    text = next((p.astext() for p in paragraphs), "")
    return re.sub(r"\s+", " ", re.sub(r"\[[^\]]*\]", "", text))[:200]


def _clean(body: str) -> str:
    """Returns a body without what extensions leave in it: scripts of a kernel service, ids given twice, English.

    By expressions, since these are fixed strings, and to parse a chapter takes most of a second.
    """
    body = re.sub(
        r'<script type="text/x-thebe-config">.*?</script>\s*<script>kernelName.*?</script>', "", body, flags=re.S
    )
    body = re.sub(r' id="(?:exercise|solution)-content"', "", body)
    return SUMMARY.sub(r"<summary>\1</summary>", body)


def visit_solution(writer: Any, node: nodes.Element) -> None:
    """Opens a solution; one of class `dropdown` waits closed under its title, without any script."""
    if "dropdown" not in node["classes"]:
        writer.body.append(writer.starttag(node, "div", CLASS="admonition"))
        return
    title = node.pop(0)
    node["classes"] = ["dl-solution"]
    writer.body.append(writer.starttag(node, "details") + "<summary>")
    title.walkabout(writer)
    writer.body.append("</summary>\n")


def depart_solution(writer: Any, node: nodes.Element) -> None:
    """Closes a solution."""
    writer.body.append("</details>\n" if "dl-solution" in node["classes"] else "</div>\n")


def _said() -> Path:
    """Returns the file of every string that templates asked for, with what the catalogues answered."""
    edition = current()
    return doctrees_of(edition.book, edition.language, edition.name) / "said.json"


def _retranslated(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Returns all pages, to be written again, if a string in a template is no longer what it was."""
    book = current().book
    with contextlib.suppress(OSError, ValueError):
        then = json.loads(_said().read_text(encoding="utf-8"))
        now = {code: labels_of(book, book.language_in(code)).entries for code in then}
        if any(now[code].get(text) != found for code, said in then.items() for text, found in said.items()):
            return sorted(env.found_docs)
    for language in book.languages:
        labels_of(book, language).seen.clear()
    return []


def _keep_said(app: Sphinx, error: Exception | None) -> None:
    """Keeps what templates asked for; a string without a translation is a warning."""
    if error is not None:
        return
    report_missing("code/booktools/site/theme")
    book = current().book
    said = {language.code: labels_of(book, language).seen for language in book.languages}
    with contextlib.suppress(OSError, ValueError):
        before = json.loads(_said().read_text(encoding="utf-8"))
        said = {code: before.get(code, {}) | found for code, found in said.items()}
    _said().write_text(json.dumps(said), encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Registers the theme and what fills it."""
    app.add_html_theme("book", str(THEME))
    app.add_transform(Anchors)
    app.add_transform(NameImports)
    app.add_node(solution_node, override=True, html=(visit_solution, depart_solution))
    app.connect("config-inited", _configure, priority=2)
    app.connect("env-updated", _retranslated)
    app.connect("html-page-context", _page, priority=900)
    app.connect("build-finished", _keep_said, priority=800)
