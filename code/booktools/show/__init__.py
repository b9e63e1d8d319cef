"""Sphinx directives and roles that show recorded measurements, and the rendering of cells' outputs.

``edition``      the book as one machine shows it, in one language, while it is built
``catalogue``    labels, outputs and comments in another language
``render``       figures, tables and code as a page shows them
``display``      what directives that show records share
``spread``       a measurement in words: spread, two modes, too few samples
``glued``        {glue:text}
``quantities``   {machines}, {here}, {recorded}, {speed}, {given}
``environments`` {environments}, {machine}
``verdicts``     {claim}, {claims}
``formerly``     {moved}, former limits in words
``alternatives`` {outcome}, {held}, {failed}, {not-run}
``samples``      {samples}: a record drawn as its samples
``score``        {score}: how near predictions came
``tree``         {tree}: a nested list of links drawn as a decision tree
``downloads``    files that a cell recorded, offered for download
"""
