"""How the book is built: languages, records, claims, checks.

As a Sphinx extension (`_config.yml` loads it) it makes plain ``jupyter-book build .`` build every
language; ``python -m booktools`` has the commands that the Makefile calls.

``book``        where everything is
``page``        a page's source, read once: its cells and blocks (``blocks``)
``kept``        results kept between runs under a hash of what they were made of
``fingerprint`` what an execution of a page depends on; ``tokens`` is code without words
``notebook``    cells, what they stored, a page joined with its execution; ``keys``
``executions``  executed notebooks as the build reads them
``prepare``     which pages are to be executed, and their notebooks
``execute``     executing them, with progress, limits and errors that name the line
``records``     what was measured, here and on named machines
``recording``   keeping an execution as a named machine's
``kit``         what executes the chapters on a bare machine, by ``kit_run`` and ``kit_piece``
``claims``      sentences as predicates over records, and what else text follows; ``outcomes`` is that text
``rivals``      whether a record tells a claim from what it excludes
``check``       all that can be wrong with the sources, found before anything is executed:
                ``parity``, ``lint`` (``numbers``, ``hedges``), ``ratios``, ``references``, ``outcomes``,
                ``branches``, ``guesses``
``build``       one build for all languages; ``room``, ``lock`` and ``publish`` keep the site whole
``edition``     one language while it is built, and what each of its pages has seen
``site``        one language, as Sphinx builds it
``catalogue``   labels, outputs and comments in another language
``render``      figures, tables and code as a page shows them; ``panels`` stacks those of a figure
``figures``     what a figure says to whoever does not see it: its name, and its data as a table, read back by
                ``figure_data`` from the ``figure_marks`` and the ``figure_axes`` of its drawing
``display``     what directives that show records share
``spread``      how a page says a measurement: spread, two modes, too few samples
``glued``       {glue:text}
``quantities``  {machines}, {here}, {recorded}, {given}
``verdicts``    {claim}; ``claim_table``: {claims}; ``alternatives``: {outcome}, {held}, {failed}, {not-run}
``environments`` {environments}, {machine}
``samples``     {samples}: a record drawn as its samples
``predict``     {predict}: a question that the reader answers before what was measured shows, in ``predict_html``;
                ``guesses`` is what may be guessed, and what of it is right
``summary``     {summary}: a chapter's question and answers, at its top
``tree``        {tree}: a nested list of links drawn as a decision tree
``formulas``    formulas, as MathML
``look``        the theme: templates, style sheet, scripts
``numbering``   the blocks of a page as its readers see them; ``twins`` what each says in another language
``assets``      what stands beside the pages
``uses``        where terms and references are used: links back
``notes``       what is cited, in short, in the margin
``previews``    what links to other pages lead to, kept on the page for its cards
``search``      what searching looks through: texts, terms, readers' words for them
``provenance``  version, commit, and the addresses of repository and site
``plain``       a page in plain Markdown; ``take_home`` its notebook and source, and the line that offers them
``addresses``   what search engines and lost readers are given; ``card`` the picture of a shared link
``pdf``         the book as a PDF in each language, of the built site
``changes``     {changes}, {citation}; ``feed`` is the Atom feed of changes and machines
``serve``       building on every save
``bench``       what building costs
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the extension with Sphinx; in a process that builds no edition yet, builds all and ends it."""
    from booktools import edition

    if not edition.is_begun():
        from booktools.build import take_over

        take_over(app)
    from booktools import (
        addresses,
        alternatives,
        assets,
        changes,
        claim_table,
        display,
        environments,
        feed,
        figures,
        formulas,
        glued,
        look,
        notes,
        predict,
        predict_html,
        previews,
        quantities,
        render,
        samples,
        search,
        site,
        summary,
        take_home,
        tree,
        uses,
        verdicts,
    )

    for part in (
        site,
        formulas,
        look,
        render,
        figures,
        display,
        glued,
        quantities,
        alternatives,
        verdicts,
        claim_table,
        environments,
        samples,
        predict_html,
        predict,
        summary,
        tree,
        search,
        uses,
        previews,
        notes,
        take_home,
        addresses,
        changes,
        feed,
        assets,
    ):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
