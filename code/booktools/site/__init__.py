"""The site: one build for all languages, the theme, and what stands around the pages.

``build``      one build for all languages
``plan``       what a build will do and how long, said at its start and as each step begins
``site``       one language, as Sphinx builds it
``publish``    a finished site in the place of the one before it, in one step
``disk_space`` whether the disk has space for a build
``lock``       one build at a time
``look``       the theme (folder ``theme``): templates, style sheet, scripts
``assets``     static files beside the pages
``search``     the index of the search page
``addresses``  what search engines and lost readers are told, links to edit a page
``feed``       what is new, and machines that were recorded, as an Atom feed
``provenance`` version, commit and addresses of a site
``cite``       {citation}
``measured``   in a page's foot: which machine measured it, and whether it was itself
``cover``      whose record the site shows, on its first page
"""
