"""How the book is built: languages, records, claims, checks.

As a Sphinx extension (`_config.yml` loads it) it makes plain ``jupyter-book build .`` build every
language; ``python -m booktools`` has the commands that the Makefile calls.

``book``        where everything is
``notebook``    pages as notebooks; what an execution depends on
``execute``     executing what is stale, with progress and limits
``records``     what was measured, here and on named machines
``recording``   keeping an execution as a named machine's
``kit``         what executes the chapters on a bare machine, by ``kit_run`` and ``kit_piece``
``claims``      sentences as predicates over records
``catalogue``   labels, outputs and comments in another language
``render``      figures, tables and code as a page shows them
``display``     what directives that show records share
``quantities``  {machines}, {here}, {recorded}, {given}
``verdicts``    {claim}, {claims}
``environments`` {environments}, {machine}
``samples``     {samples}: a record drawn as its samples
``site``        one build for all languages, published whole or not at all
``look``        the theme: templates, style sheet, scripts
``parity``      the languages say the same
``lint``        no naked number
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
    from booktools import assets, display, environments, look, quantities, render, samples, search, site, verdicts

    for part in (site, look, render, display, quantities, verdicts, environments, samples, search, assets):
        part.setup(app)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": True}
