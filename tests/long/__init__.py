"""Tests that need a tool which others trust, minutes, or the comparison of two measured times: `make long` runs them.

The ordinary tests hold on any machine, however busy; these may fail on one that somebody else slows down, so nobody
waits for them before a change is merged. They run each night. Each has a short twin under `tests`, which runs the same
code once and asserts what does not depend on time. The folders are those of `tests`.
"""
