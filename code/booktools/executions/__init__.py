"""Executions: which pages have to run, running them, and what they recorded.

``fingerprint`` what an execution of a page depends on
``executions``  executed notebooks as the build reads them
``prepare``     which pages are to be executed, and their notebooks
``execute``     executing them, with progress, limits and errors that name the line
``canary``      whether the machine was itself meanwhile
``records``     what was measured, here and on named machines
``short``       short executions, for tests
"""
