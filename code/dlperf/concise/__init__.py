"""The chapter on multiple GPUs by PyTorch's own means: k devices, k times as fast, and just as good?

Three lines, and what they do unseen:
``ddp``                a step on k devices, by hand and under DistributedDataParallel
``hooks``              what DDP lets one change: when gradients are sent, in which buckets, and as what
``buckets``            which buckets are filled, when they are through, how large is best, and what memory they take
``drawings_ddp``       what three lines take over, and gradients in buckets

As good as one:
``accuracy``           a small ResNet on k devices: what costs it accuracy, one change at a time
``drawings_accuracy``  which examples each rank sees in an epoch

When the model does not fit:
``zero``               ZeRO's formulas: what k processes hold and send
``memory``             what a step keeps: state, activations; computing blocks again
``observed``           a step in a group of processes: what it computes, holds, asks for, sends and takes
``calls``              what is asked of process groups, and what leaves a host
``sharded``            DDP, ZeRO's stage 1 and fully_shard
``twins``              parallelize_module and pipelining on the same GPT
``drawings_memory``    who holds what

When a worker dies:
``resume``             a training script that goes on where it was killed
``faults``             kills workers that torchrun started, and compares what they did with an unbroken run
``diagnosis``          ranks that disagree, lag or never come, and what PyTorch tells of it
``young``              how often to save: Young's and Daly's intervals, and a simulation of failures
``drawings_faults``    the drawing of a training with a fault

Past one machine:
``at_scale``           a step on up to thousands of devices, from α, β and FLOP/s
``published``          published figures of large runs, to compare with
``drawings_scale``     what each way sends
"""
