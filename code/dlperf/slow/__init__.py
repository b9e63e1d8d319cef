"""Modules of the page *Why is my training slow?*.

=============  ==================================================================================
``ranks``      clocks for programs of several processes, to be pasted into them
``late_rank``  a program for two of them with two faults, which ``ranks`` finds
``launched``   that program, started as a reader would, and what it measured
=============  ==================================================================================
"""
