"""Which lines of ``dlperf`` and of cells an execution reaches, in all of its processes."""
