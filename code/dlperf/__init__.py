"""The measuring instruments and the subjects of *Computational Performance for Deep Learning*.

Chapters import one module per subject. Every chapter uses the spine:

``dlperf.timing``       measure, compare, Benchmark
``dlperf.measurement``  Measurement, the value that they return
``dlperf.device``       try_gpu, try_all_gpus, synchronize
``dlperf.budget``       seconds_left, what the limit of a notebook's cell leaves
``dlperf.records``      record, which hands a value to the book
``dlperf.plot``         figures in the book's look
"""
