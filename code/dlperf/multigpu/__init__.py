"""The chapter on training on several devices, by hand: k of them, k times as fast, and just as good?

Processes:
``group``             a process for each device, joined into one process group, kept from call to call
``launching``         a function called in a process for each device: answers, logs, the first failure, and nothing left
``members``           the least that a launched function does

Three ways to split a network:
``splits``            two layers split by data or by layer, by hand
``pipeline``          a network in stages: micro-batches forward and back, the schedule and its bubble
``costs``             what each way to split sends, holds and takes, by formula
``traffic``           what a host has sent, counted in the queue that limits its link
``footprint``         the most bytes of tensors at once
``trials``            what each process does to try the three ways
``rounds``            the three ways timed in turn, and held against their formulas
``drawings``          the three ways, and the pipeline

Data parallelism from raw tensors:
``lenet``             LeNet from raw tensors
``datasets``          scikit-learn's digits and Fashion-MNIST, checked
``reduce``            all-reduce three ways, from messages between two
``reduce_costs``      their bytes, counted, and their seconds, predicted and clocked
``training``          split_batch, train_batch, train; are all ranks the same?
``correctness``       the gradient of k ranks against one device; the mean of means; a sum that reached a copy
``drawings_lenet``    the step on k devices, the three ways on a time axis

How far it carries:
``scaling``           a data-parallel step on k devices, clocked with and without its exchange
``forecast``          how fast k devices will be, from a profile and a link
``drawings_scaling``  strong and weak scaling
``batch_size``        how large a batch is of use: steps to a loss, the noise of gradients, the learning rate
``normalisation``     batch norm by each device's share, and synchronised by hand
``drawings_batch``    steps and work with more devices, whose statistics normalise

To take home:
``ladder``            one training script, from one process to a cluster
``rungs``             the rungs of the ladder, each run by its command
"""
