"""Commands: what the Makefile and workflows call, beside the build.

``recording``      keeping an execution as a named machine's
``record_check``   whether a record is fit to be published
``privacy``        what in an execution names a machine, its user or their folders
``kit``            what executes the chapters on a bare machine
``kit_run``        the script of a kit, on that machine
``kit_piece``      a piece of its work
``serve``          building again on every save
``preview``        the site of the record nearest to this machine
``publication``    which record's site is published
``dist``           site, notebooks and wheel, packed
``bench``          what building costs
``tally``          what each page shows, as a table
``github``         changes and issues opened for workflows
``install``        the environment, step by step, with the standard library only
``hashes``         which files the environment may be made of, by their hashes
``external_links`` whether external addresses still answer
"""
