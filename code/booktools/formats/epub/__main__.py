"""Write the book as an EPUB in each language: ``python -m booktools.formats.epub``."""

import sys

from booktools.formats.epub.making import make_epubs
from booktools.source.book import Book, BookError

try:
    make_epubs(Book.find())
except BookError as error:
    sys.exit(str(error))
