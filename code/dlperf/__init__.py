"""The measuring instruments and the subjects of *Computational Performance for Deep Learning*.

Every chapter uses the spine:

``timing``       measure, compare, Benchmark
``turns``        interleave: one sample of each side in turn
``spans``        intervals of time: how long several ran at once, and their drawing
``counters``     what the operating system counts of this process
``measurement``  Measurement, the value that they return
``modes``        detect bimodal samples (Otsu's split)
``ratio``        over: a ratio of medians, which remembers its samples
``device``       try_gpu, try_all_gpus, synchronize
``budget``       seconds_left, what the limit of a notebook's cell leaves
``environment``  what a measurement was taken on
``records``      record, which hands a value to the book
``visible_records``  what shows a recorded value below its cell in a plain notebook
``profiles``     what PyTorch's profiler saw of a step, as intervals
``breakdown``    where the time of a step goes, drawn the same way everywhere
``downloads``    offer, which hands a file to the book
``plot``         figures in the book's look
``palette``      their colours
``drawing``      drawings of an idea, from boxes, lanes, arrows and clocks
``native``       C++ from Python
``forked``       processes that begin at once
``fresh_process`` an expression in a new Python process
``workers``      crews of processes, pinned to a core each
``models``       ResNet-18 and a small GPT, and their training step
``network``      hosts in network namespaces, joined by links of a known rate
``alpha_beta``   what a transfer takes: a latency, and a time for every byte

and imports what it teaches from a package of its own, or from those of chapters before it. The docstring of each is
its map:

``slow``         *Why is my training slow?*
``measuring``    *Measuring performance*
``compilers``    *Compilers and interpreters*
``asynchrony``   *Asynchronous computation*, with an engine that later chapters use, too
``parallel``     *Automatic parallelism*
``hardware``     *Hardware*
``multigpu``     *Training on multiple GPUs, from scratch*
``concise``      *Training on multiple GPUs, concisely*
``kvstore``      a parameter server, which *Parameter servers* runs
``servers``      what else *Parameter servers* runs
"""
