"""Experiments of the chapter *Compilers and interpreters*, one module per subject.

``symbolic``     a compiler of the book's own: trace, rewrite, generate
``capture``      what is left of a Python program after it was captured
``dispatch``     what it costs to ask for an operation, from Python and from C++
``bounds``       what compiling and a fused update can win at most, by a profile
``forward``      one network, run in every way there is
``compilation``  what compiling is tried on, how often it happens
``price``        what it costs to compile a model, as a whole or by the block
``learning``     whether a compiled step still learns the same
``allocation``   where the memory of a new tensor comes from
``cuda_graphs``  many launches, recorded once and made as one
``deploy``       a compiled model leaves Python
``drawings``     three ways to run a program, passes over memory, recorded launches
"""
