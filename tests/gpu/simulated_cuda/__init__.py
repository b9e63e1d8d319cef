"""A simulated GPU: a CPU-only PyTorch that believes in devices ``cuda:i``, and computes for real.

A small C++ library (`cpp/`) gives PyTorch's core a kernel for *all* operators on such devices, which runs the CPU's on
the same memory, and streams that know what they waited for. This package gives ``torch._C`` what a build with CUDA has
there, before ``torch.cuda`` is imported: all of ``torch.cuda``'s own Python runs as it is.

It uses PyTorch's inside, so it belongs to one version: `VERSION`. Settings are environment variables, since processes
that a page starts are to have the same GPU:

SIMULATED_CUDA_LIBRARY           the library, as `build` made it; without it nothing is simulated
SIMULATED_CUDA_DEVICES           how many GPUs (1), SIMULATED_CUDA_MIB the memory of each in MiB (4096)
SIMULATED_CUDA_RACES             a file to which each race is written, beside the error that it raises
SIMULATED_CUDA_USED              a file to which each process that uses a GPU writes its number
SIMULATED_CUDA_MOST_MFLOP        products with more are not computed: they only take time (0: all are)
SIMULATED_CUDA_MOST_KILOELEMENTS the same for kernels on tensors with more elements (0: all are)
"""

from __future__ import annotations

from simulated_cuda.clock import use_virtual_clock
from simulated_cuda.finder import activate
from simulated_cuda.library import counts, races

VERSION = "2.13"

__all__ = ["VERSION", "activate", "counts", "races", "use_virtual_clock"]
