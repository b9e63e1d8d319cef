"""The book as a PDF, in each language, of the pages of the built site.

`document` makes one long page of them, `faces` finds what it is set in, `printing` has Chromium print it and fills in
the numbers of its pages, `packing` makes of the result a small file that is always the same, and `making` does all of
this. `book.css` is its look, on top of the site's own and of `theme/static/print.css`.
"""
