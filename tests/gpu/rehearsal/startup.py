"""Run by IPython as a kernel starts: the cells are shortened as ``dlperf`` is, and watched for what uses a GPU."""

import os

from IPython import get_ipython
from rehearsal.selection import watch

from booktools.executions.short.rule import HELPERS, Shorten

shell = get_ipython()
shell.ast_transformers.append(Shorten())
shell.user_ns.update(HELPERS)
if os.environ.get("SIMULATED_CUDA_LIBRARY"):
    watch(shell)
