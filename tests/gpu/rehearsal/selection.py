"""Which cells of a page use a GPU, which of these may do something else with two, and which others they need.

A cell *uses* a GPU if something runs on one or is waited for, in whichever process; if it asks for GPUs; or if it
reaches a line of ``dlperf`` for a GPU that no cell before it reached. It *counts* them if it asks for all of them, to
do more than take the first or wait for each. With two GPUs those that count may do something else, and those that read
what these have bound: a rehearsal on more GPUs leaves out the rest, but for what they need. A cell needs the cells
before it that bind a name which it reads, or change the object of that name.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from symtable import SymbolTable, symtable
from typing import Any

TRIES = 5
"""How often a cell is parsed where another thread disturbs it."""
ASKED = "REHEARSAL_ASKED"
"""The environment's name for a file that grows when a process asks how many GPUs there are."""

COUNTED = "REHEARSAL_COUNTED"
"""Its name for a file that grows when a process counts the GPUs."""

USING, COUNTING = "REHEARSAL_USING", "REHEARSAL_COUNTING"
"""Its names for the files to which the numbers of cells are written that use a GPU, and that count them; from 0."""

GROWING = (ASKED, "REHEARSAL_REACHED", "SIMULATED_CUDA_USED")
"""Its names for files that grow when some process uses a GPU."""

ALIKE = {("dlperf.device", "synchronize"), ("dlperf.timing", "clock")}
"""Functions that ask for all GPUs and do the same with each: they wait for it."""


def asking(fn: Callable[[], Any]) -> Callable[[], Any]:
    """Returns ``fn``, which returns all GPUs, noting that it was called; not where the environment names them."""

    def noted() -> Any:
        caller = sys._getframe(1)
        module, name = caller.f_globals.get("__name__"), caller.f_code.co_name
        if module != "dlperf.environment":
            _append(ASKED, "asked")
            first = (module, name) == ("dlperf.device", "try_gpu") and caller.f_locals["i"] == 0
            if not first and (module, name) not in ALIKE:
                _append(COUNTED, "counted")
        return fn()

    return noted


def watch(shell: Any) -> None:
    """Makes a kernel note which of its cells use a GPU, and which count them."""
    import simulated_cuda

    def used() -> tuple[int, ...]:
        return sum(simulated_cuda.counts().values()), *map(_size, GROWING)

    number, before, counted = -1, used(), _size(COUNTED)

    def begin(_: Any) -> None:
        nonlocal number, before, counted
        number, before, counted = number + 1, used(), _size(COUNTED)

    def end(_: Any) -> None:
        if used() != before:
            _append(USING, str(number))
        if _size(COUNTED) != counted:
            _append(COUNTING, str(number))

    shell.events.register("pre_run_cell", begin)
    shell.events.register("post_run_cell", end)


def _size(variable: str) -> int:
    file = Path(os.environ[variable])
    return file.stat().st_size if file.exists() else 0


def _append(variable: str, line: str) -> None:
    with open(os.environ[variable], "a", encoding="utf-8") as file:
        file.write(line + "\n")


def needed(cells: list[str], used: set[int]) -> set[int]:
    """Returns the numbers of the cells ``used`` and of those that they need, directly or through others."""
    parsed = [parse(cell) for cell in cells]
    own = {name for cell in parsed for name in _own_modules(cell)}
    kept, wanted = set(used), set[str]()
    for number in reversed(range(len(cells))):
        if number in kept or _given(parsed[number], own) & wanted:
            kept.add(number)
            wanted = (wanted - _surely_bound(parsed[number])) | _read(parsed[number])
    return kept


def unlike_on_more(cells: list[str], used: set[int], counting: set[int]) -> set[int]:
    """Returns the numbers of the cells ``used`` that may do something else with more GPUs than one."""
    return used & dependents(cells, counting)


def dependents(cells: list[str], chosen: set[int]) -> set[int]:
    """Returns the numbers of the cells ``chosen`` and of those that need any of them."""
    return chosen | readers(cells, chosen).keys()


def from_a_gpu(cells: list[str], used: set[int], chosen: set[int], given: frozenset[str] = frozenset()) -> set[str]:
    """Returns the names that the cells ``chosen`` read and that cells ``used`` give them, directly or through others.

    What is imported is the same with a GPU and without one, and so is what has one of the names ``given``.
    """
    same = given.union(*(_imported(parse(cell)) for cell in cells))
    return set[str]().union(*(names for number, names in readers(cells, used, same).items() if number in chosen))


def readers(cells: list[str], chosen: set[int], same: frozenset[str] = frozenset()) -> dict[int, set[str]]:
    """Returns for each cell that needs one of ``chosen`` which names it reads that these gave it, or others in turn.

    Names that are the ``same`` whatever gives them do not count.
    """
    parsed = [parse(cell) for cell in cells] if chosen else []
    own = {name for cell in parsed for name in _own_modules(cell)}
    found, theirs = dict[int, set[str]](), set[str]()
    for number, cell in enumerate(parsed):
        if names := _read(cell) & theirs:
            found[number] = names
        if number in chosen or names:
            theirs |= _given(cell, own) - same
        else:
            theirs -= _surely_bound(cell)
    return found


def _given(cell: ast.Module, own: set[str]) -> set[str]:
    """Returns the names that a cell binds, and those of objects that it changes."""
    return _bound(cell) | (_changed(cell) - own)


def _surely_bound(cell: ast.Module) -> set[str]:
    """Returns the names to which nothing sticks of what they were before the cell."""
    plain = (
        s for s in cell.body if not isinstance(s, ast.AugAssign | ast.For | ast.While | ast.If | ast.With | ast.Try)
    )
    return set().union(*map(_bound, plain))


def _imported(cell: ast.Module) -> set[str]:
    nodes = (node for node in ast.walk(cell) if isinstance(node, ast.Import | ast.ImportFrom))
    return {(alias.asname or alias.name).partition(".")[0] for node in nodes for alias in node.names}


def _own_modules(cell: ast.Module) -> Iterator[str]:
    """Yields what a cell imports from ``dlperf``, whose modules keep no settings."""
    for node in ast.walk(cell):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "dlperf":
            yield from (alias.asname or alias.name for alias in node.names)


def _table(node: ast.AST) -> SymbolTable:
    return symtable(ast.unparse(node), "<cell>", "exec")


def _bound(node: ast.AST) -> set[str]:
    """Returns the names that statements bind or import."""
    return {s.get_name() for s in _table(node).get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}


def _changed(cell: ast.Module) -> set[str]:
    """Returns the names of objects of which a cell sets a part, or calls a method for its effect."""
    found = set()
    for node in ast.walk(cell):
        match node:
            case ast.Attribute(ctx=ast.Store()) | ast.Subscript(ctx=ast.Store()):
                found.add(_root(node))
            case ast.Expr(value=ast.Call(func=ast.Attribute() as method)):
                found.add(_root(method))
    return found


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _read(cell: ast.Module) -> set[str]:
    """Returns the names that a cell reads and has not surely bound before."""
    found, bound = set[str](), set[str]()
    for statement in cell.body:
        found |= set(_loaded(_table(statement))) - _targets(statement) - bound
        if isinstance(statement, ast.AugAssign):
            found.add(_root(statement.target))
        elif not isinstance(statement, ast.For | ast.While | ast.If | ast.With | ast.Try):
            bound |= _bound(statement)
    return found


def _loaded(table: SymbolTable) -> Iterator[str]:
    """Yields the names that a statement looks up outside itself, those in its functions included."""
    at_top = table.get_type() == "module"
    yield from (s.get_name() for s in table.get_symbols() if s.is_referenced() and (at_top or s.is_global()))
    for inner in table.get_children():
        yield from _loaded(inner)


def _targets(statement: ast.stmt) -> set[str]:
    """Returns the names that loops, comprehensions and contexts in a statement bind before they read them."""
    nodes = [
        node.target if isinstance(node, ast.For | ast.comprehension) else node.optional_vars
        for node in ast.walk(statement)
        if isinstance(node, ast.For | ast.comprehension | ast.withitem)
    ]
    return {name.id for node in nodes if node for name in ast.walk(node) if isinstance(name, ast.Name)}


def parse(cell: str) -> ast.Module:
    """Returns the tree of a cell.

    Rehearsals run in threads, and CPython 3.11 raises SystemError where two threads parse at the same time
    (python/cpython#106905): then it is asked again.
    """
    for _ in range(TRIES):
        try:
            return ast.parse(cell)
        except SystemError:
            continue
    return ast.parse(cell)
