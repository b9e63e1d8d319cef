"""Checks: all that can be wrong with the sources, found before anything is executed or built.

``check``      all checks together
``parity``     the languages say the same
``lint``       no naked number, and the typography of Chinese
``numbers``    what vouches for a number on a page
``english``    numbers, units and ratios in English
``chinese``    the same in Chinese
``marks``      what both share
``density``    at most four numbers in a paragraph
``hedges``     no sentence that makes the reader choose
``folding``    what records or draws is folded
``width``      visible code fits into its column
``ratios``     no ratio of medians by hand
``references`` labels, pages, citations, terms, claims and keys lead somewhere
``branches``   every item of a {tree} leads to a section
``glossary``   terms are in their readers' order
"""
