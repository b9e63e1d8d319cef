"""The book in other forms than the site.

`volume` reads the built pages of a language as chapters of one book. `pdf` prints them, `epub` packs them for
e-readers, and `files` says where the results lie and of which site they were made.
"""
