"""The book as an EPUB in each language, made of the built site: ``python -m booktools.formats.epub``.

``mathml`` turns formulas into MathML
``xhtml`` writes a chapter as e-readers want it: XHTML, with drawings that need no style sheet's values
``package`` puts the chapters, their navigation and what the book says of itself into one file
``making`` does all of this for each language; `book.css` is the look
"""
