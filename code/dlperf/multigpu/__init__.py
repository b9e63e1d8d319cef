"""The chapter on training on several devices, by hand: k of them, k times as fast, and just as good?

Devices:
``group``             a process for each device, joined into one process group: GPUs, hosts or cores
``launching``         a function called once in a process for each device, as by torchrun
``members``           the least that a launched function does
``link``              what a message between two devices takes, by its size

The road, a step that changes by one thing at a time:
``data_parallel``     the step itself: a share of the batch, gradients added up at its end or in buckets on the way
``tracing``           when a device does what in it
``road``              each exchange measured, predicted, and its picture kept
``correctness``       is it still the same training? Done right, and with three bugs
``reduce``            all-reduce three ways, from messages between two
``reduce_costs``      their bytes and seconds, predicted and counted
``traffic``           the bytes that a host has sent, counted in the queue that limits its link
``scaling``           strong and weak scaling on the cores there are, and beyond
``declared``          steps that wait instead of computing, and really send
``drawings``          the pictures and tables

Just as good? And other ways to split:
``batch_size``        the noise of gradients, and a small network trained on the book's text
``batch_trials``      steps to a loss by batch, and learning rates scaled or not, as named measurements
``drawings_batch``    their pictures
``splits``            a step of two layers by data and by layer, by hand
``pipeline``          a network in stages, one to a device: micro-batches, their schedule, the bubble
``split_costs``       bytes, memory and the step of a transformer, by formula
``split_steps``       what each process does: a step, its waits, what it sends, its memory
``footprint``         the most bytes of tensors that are there at once
``split_trials``      strategies tried in turn and held against their formulas, as named measurements
``drawings_splits``   their drawings and tables

For the exercises:
``lenet``             LeNet from raw tensors, trained on k devices
``datasets``          images of 28 x 28: scikit-learn's digits, and Fashion-MNIST where its files are

For readers' own machines:
``plain``             the step as a script in plain PyTorch, to be copied
``probe``             a command: what their link gives, and what a gradient will cost
``all_reduce_times``  barrier, all-reduce by size and a data-parallel step; alpha and beta of the link
``agreement``         what must be the same on all ranks, and an error that names who differs
"""
