"""The chapter on parameter servers: who holds the model when it has to be everywhere?

Adding up, message by message:
``ring``                all-reduce around a ring, from its two halves
``both_directions``     half of the tensor each way round
``collectives``         all-reduce by a tree, by halving and doubling, and by levels
``collective_costs``    what each costs by formula, and where two cost the same
``collective_trials``   the same, clocked and counted
``drawings``            who adds up what, and the steps of a ring

What links carry:
``loads``               by formula, of each machine and phase
``links``               counted at each host
``drawings_links``      the chapter's picture of both

Where to add up:
``aggregation``         on one device, on the CPU, sharded over all, by formula
``aggregation_trials``  the same on limited links

Through the store:
``step``                a training step by servers, and by an all-reduce
``hosts``               a cluster on the hosts of a network
``goodput``             rounds of workers and servers over links of 1 Gbit/s
``locking``             trainers under a server's lock, for a step or for an update
``take_home``           a worker's whole script
``pipelined``           a part is pulled while the next is pushed
``overlapped``          gradients on their way while others are still computed
``others``              the same sum through gloo and RPC
``encryption``          a round over links with keys, and without
``small_operations``    how many small pushes a server takes, and what each costs it
``embeddings``          a table of which a step needs few rows
``drawings_store``      parts on several servers, and a chain that loses one

Must everybody wait?
``sparse_data``         examples of which each has few features
``tasks``               a sparse model and a dense one, for workers to train
``staleness``           how far behind a read is
``consistency``         workers in rounds, within a bound, or without, one of them slow
``slowness``            the same while the slow one is more and more slow
``drawings_waiting``    how often they push, and how they learn
``hogwild``             threads that share weights without a lock

When a machine dies:
``live``                servers, a worker and a link fail in the middle of a training
``live_training``       the training, and the harm that is done to it
``live_worker``         one of its workers, which notes what it does
``witness``             somebody who asks a server that has woken up too late
``timeline``            what all of them lived through
``drawings_live``       the same as a plot, and a server that wakes up too late

At scale, simulated:
``validation``          constants from some measurements, and others predicted from them
``events``              a clock, queues and links
``simulation``          through servers, or along a tree
``phases``              in phases, of a ring or of direct messages
``recurrences``         the same for many hosts that differ
``at_scale``            the same for any number of hosts that are alike
``drawings_scale``      how long ways take, by size and by the number of workers
``stragglers``          waiting for all, for the first, for nobody too far behind
``failures``            what a failing machine costs a job
"""
