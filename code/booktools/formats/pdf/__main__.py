"""Write the book as a PDF in each language: ``python -m booktools.formats.pdf``."""

import sys

from booktools.book import Book, BookError
from booktools.formats.pdf.making import make_pdfs

try:
    make_pdfs(Book.find())
except BookError as error:
    sys.exit(str(error))
