"""Write the book as a PDF in each language: ``python -m booktools.formats.pdf``."""

import sys

from booktools.formats.pdf.making import make_pdfs
from booktools.source.book import Book, BookError

try:
    make_pdfs(Book.find())
except BookError as error:
    sys.exit(str(error))
