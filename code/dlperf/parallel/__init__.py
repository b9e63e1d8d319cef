"""Experiments of the chapter *Automatic parallelism*, one module per subject.

``operators``         the operators of a step, on one thread and on several
``backward``          the graph of a backward pass: what each node took, and what it came after
``drawings``          what the chapter draws
``concurrency``       independent work for several devices, alone and together
``saturation``        one operator on the whole device against many on parts of it
``compute_and_copy``  the classic: products, and copies of their results
``overlap``           work cut into chunks, each sent while the next is computed
``mlp``               a step of a perceptron on several devices, operation by operation
``schedule``          graphs of operations: bounds, list scheduling, the engine
``gradients``         gradients on their way while the backward pass goes on
``relay``             three stages at once: in over a link, computed on, out again
``automatic``         who lets independent branches of one program run at once?
"""
