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
``recording``   keeping an execution as a named machine's; ``canary`` tells whether the machine was itself,
                ``privacy`` what names it or its user, ``record_check`` whether the record is fit to be published
``kit``         what executes the chapters on a bare machine, by ``kit_run`` and ``kit_piece``
``claims``      sentences as predicates over records, and what else text follows; ``outcomes`` is that text
``limits``      their predicates as registered, and the former ones
``predictions`` what pages predict before they measure it; ``score`` is {score}
``rivals``      whether a record tells a claim from what it excludes
``check``       all that can be wrong with the sources, found before anything is executed:
                ``parity``, ``lint`` (``numbers``, ``hedges``), ``ratios``, ``references``, ``outcomes``,
                ``branches``
``build``       one build for all languages; ``room``, ``lock`` and ``publish`` keep the site whole
``edition``     one language while it is built, and what each of its pages has seen
``site``        one language, as Sphinx builds it
``catalogue``   labels, outputs and comments in another language
``render``      figures, tables and code as a page shows them
``display``     what directives that show records share
``spread``      how a page says a measurement: spread, two modes, too few samples
``glued``       {glue:text}
``quantities``  {machines}, {here}, {recorded}, {given}
``verdicts``    {claim}, {claims}; ``alternatives``: {outcome}, {held}, {failed}, {not-run}
``environments`` {environments}, {machine}
``samples``     {samples}: a record drawn as its samples
``tree``        {tree}: a nested list of links drawn as a decision tree
``look``        the theme: templates, style sheet, scripts
``assets``      what stands beside the pages
``search``      what the search page looks through
``plain_notebooks`` each page as a notebook for whoever has only pip: ``plain_markdown`` (``directives``, ``targets``),
                ``wheel``; ``offered`` links them from a site that is passed on; ``archive`` packs
``preview``     the site of the record nearest to this machine, for reading first
``dist``        site, notebooks and wheel, packed: the same bytes of the same commit
``publication`` which record's site is published; ``cover`` says so on it; ``external_links``, ``github``
``provenance``  version, commit and addresses of a site; ``cite`` is {citation}, ``addresses`` what search engines,
                lost readers and those who want to change something are told; ``feed`` tells what is new
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
        cite,
        display,
        environments,
        feed,
        glued,
        look,
        offered,
        quantities,
        render,
        samples,
        score,
        search,
        site,
        tree,
        verdicts,
    )

    for part in (
        site,
        look,
        render,
        display,
        glued,
        quantities,
        alternatives,
        score,
        verdicts,
        environments,
        samples,
        tree,
        search,
        assets,
        addresses,
        feed,
        cite,
        offered,
    ):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
