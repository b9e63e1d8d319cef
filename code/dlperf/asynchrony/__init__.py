"""Experiments of the chapter *Asynchronous computation*, one module per subject.

``engine``         a dependency engine of the book's own
``blocking``       who waits, and until when
``costs``          what calls cost that return before their work is done
``lower_bound``    loops that took less than their slower side
``meanwhile``      what the same call costs, by what the back end does meanwhile
``backlog``        what a queue holds on to, with and without a bound
``streams``        streams of a GPU
``data_loading``   loading ahead of the work
``drawings``       its drawings
``implicit_sync``  the wait that hides in a training loop
"""
