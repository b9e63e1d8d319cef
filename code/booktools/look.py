"""The look of the site: the book's own theme (``theme/``), in the language of each edition.

The theme is three templates, a style sheet and two scripts; nothing of Jupyter Book's stock theme
reaches a page. Every string in a template goes through ``say``, that is through the catalogue of the
edition's language, and one that is missing there fails the build like a label's.
"""

from __future__ import annotations

import gettext
import importlib.util
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import locale
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment.adapters.toctree import TocTree
from sphinx.transforms import SphinxTransform
from sphinx_exercise.nodes import solution_node

from booktools.book import Book, BookError, Language
from booktools.catalogue import Catalogue, catalogue
from booktools.render import page_catalogue, report_missing

THEME = Path(__file__).resolve().parent / "theme"
CONTENTS_DEPTH = 2
"""Levels of headings that the contents of a page list."""
MATHJAX = ("tex-chtml.js", "output/chtml/fonts/woff-v2", "input/tex/extensions")
"""What a browser may ask of MathJax: the program, its fonts, and rarer macros."""
UNUSED = [
    "sphinx-thebe.*",
    "copybutton*.*",
    "copy-button.svg",
    "check-solid.svg",
    "play-solid.svg",
    "clipboard.min.js",
    "togglebutton.*",
    "exercise.css",
    "mystnb.*.css",
    "design-tabs.js",
    "translations.js",
    "scripts",
    "locales",
    "images",
    "*webpack-macros.html",
]
"""What extensions that Jupyter Book loads put into `_static`, and no page asks for."""


def labels_of(book: Book, language: Language) -> Catalogue:
    """Returns the catalogue of a language; the first has none."""
    return catalogue(None if language == book.languages[0] else book.chapters / f"labels.{language.code}.po")


class Anchors(SphinxTransform):
    """Gives a section the label before it as its only anchor: the one that Sphinx makes of the heading is
    another in each language."""

    default_priority = 700

    def apply(self, **kwargs: Any) -> None:
        names, explicit = self.document.nameids, self.document.nametypes
        labels = {identity for name, identity in names.items() if identity and explicit.get(name)}
        for section in self.document.findall(nodes.section):
            section["ids"] = [identity for identity in section["ids"] if identity in labels] or section["ids"]


class Fallback(gettext.NullTranslations):
    """The book's catalogue, for what Sphinx and its extensions say but do not translate themselves."""

    def __init__(self, entries: dict[str, str]) -> None:
        super().__init__()
        self.entries = entries

    def gettext(self, message: str) -> str:
        return self.entries.get(message, message)


def _configure(app: Sphinx, config: Config) -> None:
    labels = page_catalogue(config)
    say = labels.translate
    config.html_theme, config.html_theme_options = "book", {}
    config.project = config.html_title = config.html_short_title = say(config.html_title or config.project)
    config.author = say(config.author)
    config.html_use_index = config.html_domain_indices = False
    config.html_copy_source = config.html_show_sourcelink = False
    config.html_permalinks_icon = "§"
    config["nb_code_prompt_show"], config["nb_code_prompt_hide"] = say("Show code"), say("Hide code")
    report_missing(labels, "_config.yml")
    fallback = Fallback(labels.entries)
    for translation in locale.translators.values():
        translation.add_fallback(fallback)


def _page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Gives the templates what they show beyond the page's body."""
    book = Book(Path(app.config.booktools_root))
    here = book.language(app.config.language)
    root = context["content_root"] + ("" if here == book.languages[0] else "../")
    context["edition"], context["site_root"] = here, root
    context["editions"] = [_edition(app.config, book, language, here, pagename, root) for language in book.languages]
    context["say"] = page_catalogue(app.config).translate
    context["mark"] = app.config.booktools_version[:8]
    context["has_math"] = 'class="math ' in context.get("body", "")
    context["contents"] = _contents(app, pagename) if doctree is not None and pagename != app.config.root_doc else ""
    context["description"] = _description(doctree)
    if "body" in context:
        context["body"] = _clean(context["body"], context["say"])


def _edition(
    config: Config, book: Book, language: Language, here: Language, pagename: str, root: str
) -> dict[str, Any]:
    """Returns what a page says of itself in one language; ``hint`` and ``close`` are in that language."""
    path = ("" if language == book.languages[0] else f"{language.code}/") + f"{pagename}.html"
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


def _clean(body: str, say: Callable[[str], str]) -> str:
    """Returns a body without what extensions leave in it: scripts of a kernel service, ids given twice, English."""
    body = re.sub(
        r'<script type="text/x-thebe-config">.*?</script>\s*<script>kernelName.*?</script>', "", body, flags=re.S
    )
    body = re.sub(r' id="(?:exercise|solution)-content"', "", body)
    return body.replace(' aria-label="Toggle hidden content"', f' aria-label="{say("Toggle hidden content")}"')


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


def _texts(app: Sphinx) -> list[list[str]]:
    """Returns each section as (page, anchor, heading, text): what the search page looks through and quotes."""
    found = []
    for page in sorted(app.env.found_docs):
        for section in app.env.get_doctree(page).findall(nodes.section):
            if isinstance(section[0], nodes.title):
                own = [child.deepcopy() for child in section[1:] if not isinstance(child, nodes.section)]
                found.append([page, section["ids"][0], section[0].astext(), _plain(nodes.container("", *own))])
    return found


def _plain(content: nodes.Element) -> str:
    """Returns the text of a section as one line, without pictures, display formulas and their numbers."""
    for node in list(content.findall()):
        numbered = isinstance(node, pending_xref) and node.get("reftype") in ("eq", "numref")
        if (numbered or isinstance(node, nodes.raw | nodes.math_block)) and node.parent is not None:
            node.parent.remove(node)
    text = " ".join(child.astext() for child in content)
    return re.sub(r"(?<=[，。、；：？！）”]) ", "", re.sub(r"\s+", " ", text)).strip()


def _finish(app: Sphinx, error: Exception | None) -> None:
    """Completes `_static`: texts for the search page, MathJax once for all editions, nothing unused."""
    if error is not None or app.builder.format != "html":
        return
    report_missing(page_catalogue(app.config), "code/booktools/theme")
    static = Path(app.outdir) / "_static"
    for name in UNUSED:
        for path in static.glob(name):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    texts = json.dumps(_texts(app), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    (static / "texts.js").write_text(f"window.DL_TEXTS={texts};\n", encoding="utf-8")
    book = Book(Path(app.config.booktools_root))
    _forget_pages(app, {language.code for language in book.languages})
    if book.language(app.config.language) == book.languages[0]:
        _copy_mathjax(static / "mathjax")


def _forget_pages(app: Sphinx, editions: set[str]) -> None:
    """Removes pages of earlier builds that the book no longer has."""
    for path in Path(app.outdir).rglob("*.html"):
        name = path.relative_to(app.outdir)
        if name.parts[0] not in editions and name.with_suffix("").as_posix() not in {*app.env.found_docs, "search"}:
            path.unlink()


def _copy_mathjax(target: Path) -> None:
    """Copies what pages need of MathJax; it is the same at every build, so once."""
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    if found is None or found.origin is None:
        raise BookError("MathJax is missing: install the package sphinx-mathjax-offline, which the extra [book] lists")
    source = Path(found.origin).parent / "static" / "mathjax"
    for name in MATHJAX:
        if (target / name).exists():
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name)
        else:
            shutil.copy2(source / name, target / name)


def setup(app: Sphinx) -> None:
    """Registers the theme and what fills it."""
    app.add_html_theme("book", str(THEME))
    app.add_transform(Anchors)
    app.add_node(solution_node, override=True, html=(visit_solution, depart_solution))
    app.connect("config-inited", _configure, priority=2)
    app.connect("html-page-context", _page, priority=900)
    app.connect("build-finished", _finish, priority=800)
