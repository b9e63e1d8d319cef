"""The book as a PDF in each language, printed by Chromium from the built site: ``python -m booktools.formats.pdf``.

``document`` puts the chapters into one HTML page, with cover and contents
``fonts`` finds the faces that it is set in, and takes from them what it needs
``printing`` has Chromium print it until its page numbers are right
``packing`` gives the file its outline, what it says of itself, and the same bytes each time
``making`` does all of this for each language; `book.css` is the look
"""
