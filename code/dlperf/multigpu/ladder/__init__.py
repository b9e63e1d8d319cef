"""The ladder: one training script, from one process to a cluster; each a program of its own, to be taken home.

``one``        one process
``several``    a process for each device, started by the script itself
``launched``   a process for each device of one host or of several, started by `torchrun`; under Slurm by ``job.sh``
"""
