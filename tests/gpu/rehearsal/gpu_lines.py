"""Which lines of ``dlperf`` only a machine with a GPU reaches, found in the source by rules, and none by hand.

A *GPU's* condition is one that holds only where there is a GPU: ``device.type == "cuda"``, ``tensor.is_cuda``,
``torch.cuda.is_available()``, a name that says gpu or cuda or was given such a value, and what ``and``, ``or`` and
``not`` make of them. A GPU's lines are

1. the body of what has such a condition, or the other branch of what has its opposite,
2. what follows a statement that leaves a function unless there is a GPU, or calls a function that raises then,
3. functions that are named in such lines, of ``dlperf`` or of a page's cells, and nowhere else.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from booktools.source.book import Book
from booktools.source.notebook import code_cells, read_page

ROOT = Path(__file__).resolve().parents[3]
CODE = ROOT / "code" / "dlperf"
WITH, EITHER, WITHOUT = 1, 0, -1  # where a condition holds: only with a GPU, who knows, only without one

Function = ast.FunctionDef
Reference = tuple[str, str]
"""The last name of what it is looked up in, a module or an object, and its own."""


class Source:
    """A module or the cells of a page: its tree, what it imports, and the names that stand for there being a GPU."""

    def __init__(self, name: str, text: str, path: Path | None = None) -> None:
        self.name, self.path, self.tree = name, path, ast.parse(text)
        self.modules, self.objects = self._imports()
        self.told: set[str] = set()
        self.told = {name for name, value in self._assigned() if self.condition(value) == WITH}

    def _imports(self) -> tuple[dict[str, str], dict[str, Reference]]:
        modules, objects = {}, {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                modules |= {alias.asname or alias.name: alias.name.rpartition(".")[2] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                stem = (node.module or "").rpartition(".")[2]
                for alias in node.names:
                    modules[alias.asname or alias.name] = alias.name
                    objects[alias.asname or alias.name] = stem, alias.name
        return modules, objects

    def _assigned(self) -> Iterator[tuple[str, ast.expr]]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    pairs = [(target, node.value)]
                    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                        pairs = list(zip(target.elts, node.value.elts, strict=False))
                    yield from ((_last(name), value) for name, value in pairs if _last(name))
            elif isinstance(node, ast.arg) and node.annotation and "cuda" in ast.unparse(node.annotation):
                yield node.arg, ast.Name("cuda")

    def condition(self, test: ast.expr) -> int:
        """Returns where a condition holds: `WITH` a GPU only, `WITHOUT` one only, or `EITHER`."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return -self.condition(operand)
            case ast.BoolOp(op=op, values=values):
                each = [self.condition(value) for value in values]
                if isinstance(op, ast.And):
                    return next((found for found in each if found), EITHER)
                return each[0] if len(set(each)) == 1 else EITHER
            case ast.IfExp(test=inner, orelse=ast.Constant(value=None | False)):
                return max(EITHER, self.condition(inner))
            case ast.IfExp(test=inner, orelse=ast.IfExp() as other):
                return max(EITHER, min(self.condition(inner), self.condition(other)))
            case ast.Compare(left=ast.Attribute(attr="type"), ops=[op], comparators=[ast.Constant(value=kind)]):
                here = {"cuda": WITH, "cpu": WITHOUT}.get(kind, EITHER)
                return here if isinstance(op, ast.Eq) else -here if isinstance(op, ast.NotEq) else EITHER
            case ast.Compare(ops=[ast.Lt()], comparators=[counted]):  # i < torch.cuda.device_count()
                return self.condition(counted)
            case ast.Call(func=ast.Name(id="has_cuda" | "is_gpu") | ast.Attribute(attr="has_cuda" | "is_gpu")):
                return WITH
            case ast.Call(func=ast.Attribute(attr="startswith"), args=[ast.Constant(value="cuda")]):
                return WITH
            case ast.Call(func=ast.Attribute(value=owner, attr="is_available" | "device_count")) if (
                _last(owner) == "cuda"
            ):
                return WITH
            case ast.Call(func=ast.Name(id="range"), args=[argument]):
                return self.condition(argument)
            case ast.SetComp() | ast.ListComp() | ast.GeneratorExp():
                tests = [self.condition(t) for loop in test.generators for t in (*loop.ifs, loop.iter)]
                return next((found for found in tests if found == WITH), EITHER)
            case ast.Name() | ast.Attribute():
                name = _last(test)
                return WITH if name == "is_cuda" or name in self.told or _says_gpu(name) else EITHER
        return EITHER

    def references(self, node: ast.AST) -> set[Reference]:
        """Returns what a statement names, without what is inside statements of its own."""
        found: set[Reference] = set()
        for child in _expressions(node):
            if isinstance(child, ast.Name):
                found.add(self.objects.get(child.id, (self.name, child.id)))
            elif isinstance(child, ast.Attribute):
                owner = child.value
                found.add((self.modules.get(_last(owner), _last(owner)), child.attr))
        return found


def _says_gpu(name: str) -> bool:
    return any(word in ("gpu", "cuda") for word in name.lower().split("_"))


def _last(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _expressions(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield child
            yield from _expressions(child)


class Walk:
    """One look at a source: each statement with whether it is a GPU's, given the functions known to be."""

    def __init__(self, source: Source, guards: frozenset[str], functions: set[int]) -> None:
        self.source, self.guards, self.functions = source, guards, functions
        self.statements: list[tuple[ast.stmt, bool]] = []
        self._block(source.tree.body, False)

    def _block(self, body: list[ast.stmt], on_gpu: bool) -> None:
        for statement in body:
            self.statements.append((statement, on_gpu))
            self._inside(statement, on_gpu)
            on_gpu = on_gpu or self._leaves(statement)

    def _inside(self, statement: ast.stmt, on_gpu: bool) -> None:
        match statement:
            case ast.If() | ast.While():
                holds = self.source.condition(statement.test)
                self._block(statement.body, on_gpu or holds == WITH)
                self._block(statement.orelse, on_gpu or (holds == WITHOUT and isinstance(statement, ast.If)))
            case ast.For():
                self._block(statement.body, on_gpu or self.source.condition(statement.iter) == WITH)
                self._block(statement.orelse, on_gpu)
            case ast.FunctionDef():
                self._block(statement.body, on_gpu or id(statement) in self.functions)
            case _:
                for child in ast.iter_child_nodes(statement):
                    if isinstance(child, ast.ExceptHandler | ast.match_case):
                        self._block(child.body, on_gpu)
                for name in ("body", "orelse", "finalbody"):
                    inner = getattr(statement, name, [])
                    if inner and isinstance(inner, list):
                        self._block(inner, on_gpu)

    def _leaves(self, statement: ast.stmt) -> bool:
        """Whether what follows in the block runs only with a GPU."""
        match statement:
            case ast.If(body=[*_, ast.Return() | ast.Raise() | ast.Continue()], orelse=[]):
                return self.source.condition(statement.test) == WITHOUT
            case ast.Expr(value=call) | ast.Assign(value=call) | ast.Return(value=call) if isinstance(call, ast.Call):
                return _last(call.func) in self.guards
        return False


def _guards(source: Source, known: frozenset[str] = frozenset()) -> set[str]:
    """Returns the functions that begin by raising without a GPU, or by calling one that is ``known`` to."""
    found = set(known)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef):
            match [statement for statement in node.body if not _is_docstring(statement)]:
                case [ast.If(body=[ast.Raise()], orelse=[]) as first, *_] if source.condition(first.test) == WITHOUT:
                    found.add(node.name)
                case [ast.Expr(value=ast.Call(func=ast.Name(id=name))), _, *_] if name in found:
                    found.add(node.name)
    return found


def sources() -> list[Source]:
    """Returns every module of ``dlperf`` and the cells of every page."""
    found = [Source(path.stem, path.read_text(encoding="utf-8"), path) for path in sorted(CODE.rglob("*.py"))]
    book = Book(ROOT)
    for page in book.pages:
        cells = code_cells(read_page(book.page(book.languages[0].code, page)))
        found.append(Source(f"page {page}", "\n".join(cell.source for cell in cells)))
    return found


def gpu_only(read: list[Source] | None = None) -> dict[str, list[int]]:
    """Returns the lines on which a GPU's statements begin, by the module's path; docstrings are none."""
    read = read or sources()
    guards = frozenset(name for source in read for name in _guards(source))
    guards |= {name for source in read for name in _guards(source, guards)}
    functions: set[int] = set()
    while True:
        walks = [Walk(source, guards, functions) for source in read]
        more = functions | _only_named_there(walks)
        if more == functions:
            break
        functions = more
    lines: dict[str, list[int]] = {}
    for walk in walks:
        counted = {s.lineno for s, on_gpu in walk.statements if on_gpu and not _is_docstring(s)}
        if walk.source.path and counted:
            lines[str(walk.source.path)] = sorted(counted)
    return lines


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _only_named_there(walks: list[Walk]) -> set[int]:
    """Returns the functions that are named in a GPU's lines, and in no others."""
    named: dict[Reference, set[bool]] = defaultdict(set)
    anywhere: dict[str, set[bool]] = defaultdict(set)
    for walk in walks:
        for statement, on_gpu in walk.statements:
            if not isinstance(statement, ast.Import | ast.ImportFrom):
                for reference in walk.source.references(statement):
                    named[reference].add(on_gpu)
                    anywhere[reference[1]].add(on_gpu)
    found = set()
    for walk in walks:
        methods = {id(f) for node in ast.walk(walk.source.tree) if isinstance(node, ast.ClassDef) for f in node.body}
        for statement, _ in walk.statements:
            if isinstance(statement, Function):  # whose object a method is called on, the name alone has to tell
                ways = anywhere[statement.name] if id(statement) in methods else named[walk.source.name, statement.name]
                if ways == {True}:
                    found.add(id(statement))
    return found
