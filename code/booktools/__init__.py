"""Build tools of the book: run pages, record machines, judge claims, check, and build the site in every language.

As a Sphinx extension (`_config.yml` loads it) it makes plain ``jupyter-book build .`` build every
language; ``python -m booktools`` has the commands that the Makefile calls.

Each package has a map of its modules in its docstring, and imports only those above it here:

``source``     the sources: folders and settings, pages as they are written
``executions`` which pages have to run, running them, what they recorded
``claims``     what the book says of records, judged for every machine
``show``       what a page shows of records: directives, roles, rendered outputs
``checks``     what can be wrong with the sources
``site``       the build of all languages, the theme, what stands around the pages
``formats``    the book in other forms: plain notebooks, a wheel, archives
``commands``   recording, kits, previews, publication: what the Makefile and workflows call
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the extension with Sphinx; in a process that builds no edition yet, builds all and ends it."""
    from booktools.show import edition

    if not edition.is_begun():
        from booktools.site.build import take_over

        take_over(app)
    from booktools.formats import offered
    from booktools.show import (
        alternatives,
        display,
        environments,
        formerly,
        glued,
        quantities,
        render,
        samples,
        score,
        tree,
        verdicts,
    )
    from booktools.site import addresses, assets, cite, feed, look, measured, search, site

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
        formerly,
        environments,
        samples,
        tree,
        search,
        assets,
        addresses,
        feed,
        cite,
        measured,
        offered,
    ):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
