"""The book in other forms than the site.

``plain_notebooks`` each page as a notebook for whoever has only pip
``plain_markdown``  a page's MyST as the Markdown that Jupyter shows
``directives``      a directive of MyST taken apart
``targets``         what references of a plain notebook lead to
``wheel``           `dlperf` as a wheel
``archive``         zip files that are the same to the byte
``offered``         plain notebooks offered on the pages of a site
``volume``          the built pages of a language as chapters of one book
``pdf``             prints them
``epub``            packs them for e-readers
``files``           where PDFs and EPUBs lie, and of which site they were made
"""
