"""The sources: the book's files, and a page as it is written, read once.

``book``       the book's folders, languages and settings
``page``       a page's source and its cells, parsed once for as long as it stays the same
``blocks``     a page as a list of blocks
``notebook``   cells, what they stored, a page joined with its execution
``kernel``     constants of executing notebooks, which kits share
``keys``       the keys under which a page's outputs are stored
``tokens``     code without comments and docstrings
``cache``      results kept between runs under a hash of what they were made of
``short_flag`` whether this process executes pages in short
"""
