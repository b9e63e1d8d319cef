"""The rule by which a short execution is shorter than a full one: every line still runs, but not as often.

1. A parameter that says how often something is done, by its name, is at most `MOST` of that name: in every function
   of ``dlperf``, whoever calls it, and as a keyword in every call that gives a number or a variable.
2. A loop over ``range(number)`` whose variable is ``_`` is run for its effect alone: `LOOPS` times at most.
3. The machine says that it has little memory, from which sizes of arrays are chosen, and steps are of few images
   (`FUNCTIONS`); networks are narrow, epochs are few, and links are fast (`CONSTANTS`).
4. A simulated GPU lets time pass instead of computing what is large (`tests/gpu`).

What this would change the meaning of is named in `EXCEPTIONS`, each with its reason.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

MOST: dict[str, float] = {
    **dict.fromkeys(("rounds", "runs", "tries", "turns", "pairs", "processes"), 2),
    "samples": 2,
    "items": 5,
    "calls": 200,
    **dict.fromkeys(("number", "requests"), 20),
    "repeats": 1,
    "n": 1000,
    "warm_up": 3,
    "min_run_time": 1e-3,
    "seconds": 5e-3,
    "duration": 0.5,
    "max_seconds": 0.2,
}
"""The most that a parameter of this name may ask for: how often, or for how many seconds."""

LOOPS = 3
"""So often does a loop run that counts nothing. Up to four turns stay: they unpack into names."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "dlperf.environment.memory_bytes": lambda: 2**30,
    "dlperf.models.steps.images": lambda device: 4,
}
"""Functions of ``dlperf`` that are others: how many bytes of memory there are, how many images a step takes."""

CONSTANTS: dict[str, str] = {
    "GIGABIT": "3 * 125e6",
    "EPOCHS": "2",
    "WIDTHS": "(16, 32, 64, 128)",
    "CPU_GPT": "gpt.Size(len(text.CHARACTERS), context=32, layers=2, heads=4, width=32)",
}
"""Constants of ``dlperf`` that have another value: a link's rate, epochs, sizes of ResNet-18 and of a CPU's GPT."""

EXCEPTIONS: dict[str, str] = {
    **dict.fromkeys(("trips", "_trips"), "it is asked for more until it takes long enough"),
    **dict.fromkeys(("_reach", "iperf3_client"), "it tries until the other end is there"),
}
"""Functions that stay as they are, and why."""

LENGTHS = ("timedelta",)
"""What gives a length of time and not a repetition: its ``seconds`` end a hang, and stay as they are."""


def at_most(value: Any, most: float) -> Any:
    """Returns a number that is no larger than ``most``, of the same type; anything else as it is."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value > most:
        return type(value)(most)
    return value


def _limited(variable: str, parameter: str) -> ast.expr:
    return ast.parse(f"_at_most({variable}, {MOST[parameter]!r})", mode="eval").body


class Shorten(ast.NodeTransformer):
    """Rewrites a module or a cell by the rule; the names that it uses are `HELPERS`."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name in EXCEPTIONS or any("jit" in ast.unparse(each) for each in node.decorator_list):
            return node  # compiled by Numba: it knows no other functions of Python's
        self.generic_visit(node)
        given = node.args
        names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs) if a.arg in MOST]
        documented = ast.get_docstring(node) is not None
        limits = [ast.Assign([ast.Name(name, ast.Store())], _limited(name, name)) for name in names]
        node.body[documented:documented] = [ast.copy_location(limit, node.body[-1]) for limit in limits]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if ast.unparse(node.func).rpartition(".")[2] in LENGTHS:
            return node
        return self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        if node.arg in MOST:
            match node.value:
                case ast.Constant():
                    node.value.value = at_most(node.value.value, MOST[node.arg])
                case ast.Name(id=name):
                    node.value = ast.copy_location(_limited(name, node.arg), node.value)
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        match node.targets:
            case [ast.Name(id=name)] if name in CONSTANTS:
                node.value = ast.copy_location(ast.parse(CONSTANTS[name], mode="eval").body, node.value)
        return self.generic_visit(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        self._loop(node)
        return self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self._loop(node)
        return self.generic_visit(node)

    def _loop(self, node: ast.For | ast.comprehension) -> None:
        match node.target, node.iter:
            case ast.Name(id="_"), ast.Call(
                func=ast.Name(id="range"), args=[ast.Constant(value=int() as times) as most]
            ):
                most.value = LOOPS if times > 4 else times


def shorten(tree: Any) -> Any:
    """Returns the tree, rewritten in place."""
    return ast.fix_missing_locations(Shorten().visit(tree))


HELPERS: dict[str, Callable[..., Any]] = {"_at_most": at_most}
"""What a rewritten module finds among its globals."""
