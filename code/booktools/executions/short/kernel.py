"""Run by IPython as a kernel starts: the cells are shortened as ``dlperf`` is."""

from IPython import get_ipython

from booktools.executions.short.rule import HELPERS, Shorten

_shell = get_ipython()
_shell.ast_transformers.append(Shorten())
_shell.user_ns.update(HELPERS)
