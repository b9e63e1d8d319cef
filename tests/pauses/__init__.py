"""A clock that sees pauses, as if somebody else had had the core: for executions that must survive any number.

``clock``  the pauses of a seed, and how the clocks of a process come to see them
``site``   a folder for ``PYTHONPATH``: Python runs what is in it when it starts, so that worker processes see them too
"""
