"""What the chapter *Compilers and interpreters* imports, a subject a module.

``symbolic``     a compiler of the book's own: trace, rewrite, generate
``capture``      what is left of a Python program after it was captured
``dispatch``     what it costs to ask for an operation, from Python and from C++
``forward``      one network, run in every way there is
``compilation``  what compiling is tried on, what it costs, how often it happens
``allocation``   where the memory of a new tensor comes from
``cuda_graphs``  many launches, recorded once and made as one
``deploy``       a compiled model leaves Python
"""
