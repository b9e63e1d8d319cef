"""How the code hangs together: imports run one way, and readers need no build tools."""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import booktools
from booktools.executions.fingerprint import DLPERF, imported, reached
from booktools.source.book import Book
from booktools.source.notebook import code_cells, read_page
from booktools.source.page import pages_with_cells
from tests.conftest import ROOT

SPINE = {"timing", "turns", "spans", "counters", "budget", "measurement", "modes", "ratio", "device"}
SPINE |= {"environment", "native", "forked", "workers", "network", "models", "records", "plot", "palette"}
SPINE |= {"fresh_process", "visible_records", "profiles", "breakdown", "downloads", "drawing", "alpha_beta"}
CHAPTERS = ["slow", "measuring", "compilers", "asynchrony", "parallel", "hardware"]
CHAPTERS += ["multigpu", "concise", "kvstore", "servers"]
"""The packages in the order of the book, in which a later chapter may use what an earlier one taught."""
PAGES = {"async": "asynchrony"}
"""The pages whose package has another name: ``async`` is a keyword of Python."""
ENGINE = "asynchrony.engine"
"""What any chapter may experiment with, whatever its place."""
SOURCES = {
    ".".join(path.relative_to(DLPERF).with_suffix("").parts).removesuffix(".__init__"): path.read_text(encoding="utf-8")
    for path in DLPERF.rglob("*.py")
    if path != DLPERF / "__init__.py"
}
MODULES = sorted(SOURCES)
LAYERS = ["source", "executions", "claims", "show", "checks", "site", "formats", "commands"]
"""The packages of `booktools` from the ground up: each imports only itself and those below it."""
BOOKTOOLS = Path(booktools.__file__).resolve().parent
BUILD_SOURCES = {
    ".".join(path.relative_to(BOOKTOOLS).with_suffix("").parts).removesuffix(".__init__"): path.read_text("utf-8")
    for path in BOOKTOOLS.rglob("*.py")
    if path.parent != BOOKTOOLS and path.name != "sitecustomize.py"
}
BUILD_MODULES = sorted(BUILD_SOURCES)
WHOLE = ["asynchrony.engine", "compilers.symbolic", "parallel.automatic", "hardware", "network", "kvstore"]
"""The packages that import all their modules, because they are used as one."""


def inner(source: str) -> set[str]:
    """Returns the modules and packages of `dlperf` that Python source imports, without the leading name."""
    names = {name.removeprefix("dlperf.") for name in imported(source) if name.startswith("dlperf.")}
    return {name for name in names if name in MODULES}


def of(module: str) -> str:
    """Returns the part of `dlperf` to which a module belongs: a chapter's package, or one of the spine."""
    return module.partition(".")[0]


def allowed(names: set[str], chapter: str) -> bool:
    """Returns whether a chapter may import these: the spine, the engine, its own package, and earlier ones."""
    packages = SPINE | set(CHAPTERS[: CHAPTERS.index(chapter) + 1])
    return all(of(name) in packages or name.startswith(ENGINE) or name == "asynchrony" for name in names)


def test_every_module_is_of_the_spine_or_of_a_chapter() -> None:
    assert {of(module) for module in MODULES} == SPINE | set(CHAPTERS)


@pytest.mark.parametrize("module", MODULES)
def test_dlperf_never_imports_the_build(module: str) -> None:
    names = imported(SOURCES[module])
    assert not {name for name in names if name.split(".")[0] in ("booktools", "sphinx", "myst_nb", "jupyter_book")}


@pytest.mark.parametrize("module", [module for module in MODULES if of(module) not in SPINE])
def test_a_chapter_imports_only_the_spine_the_engine_and_earlier_chapters(module: str) -> None:
    assert allowed(inner(SOURCES[module]), of(module))


@pytest.mark.parametrize("page", [page for page in pages_with_cells(Book(ROOT)) if page != "slow"])
def test_so_do_the_cells_of_its_page(page: str) -> None:
    cells = code_cells(read_page(Book(ROOT).page("en", page)))
    names = set().union(*(inner(cell.source) for cell in cells))
    assert allowed(names, PAGES.get(page, page))
    assert PAGES.get(page, page) in {of(name) for name in names}


def test_the_page_that_leads_to_the_chapters_needs_none_of_their_packages() -> None:
    cells = code_cells(read_page(Book(ROOT).page("en", "slow")))
    assert {of(name) for cell in cells for name in inner(cell.source)} <= SPINE | {"slow"}


@pytest.mark.parametrize("module", [module for module in MODULES if of(module) in SPINE])
def test_the_spine_imports_no_subject(module: str) -> None:
    assert {of(name) for name in inner(SOURCES[module])} <= SPINE


@pytest.mark.parametrize("package", CHAPTERS)
def test_a_package_is_mapped_by_its_docstring(package: str) -> None:
    """One line for each module, so that a stranger finds the room."""
    head = ast.get_docstring(ast.parse(SOURCES[package])) or ""
    inside = {module.split(".")[1] for module in MODULES if module.startswith(f"{package}.")} - {"__main__"}
    assert inside == set(re.findall(r"^``(\w+)``", head, re.M))


@pytest.mark.parametrize("package", WHOLE)
def test_a_page_that_imports_a_package_reaches_all_of_it(package: str) -> None:
    """So a page is stale when any of its modules changed: their imports are absolute, as `imported` needs them."""
    modules, _ = reached({f"dlperf.{package}"})
    mine = {module for module in MODULES if f"{module}.".startswith(f"{package}.") and not module.endswith("__main__")}
    optional = {module for module in mine if ".ray_" in module}  # Ray's are reached by who names them
    assert {f"dlperf.{module}" for module in mine - optional} <= modules.keys()


@pytest.mark.parametrize("package", sorted(set(CHAPTERS) - set(WHOLE)))
def test_a_page_that_imports_one_module_does_not_reach_its_neighbours(package: str) -> None:
    """So that a module more for one chapter makes no record of another stale."""
    modules, _ = reached({f"dlperf.{package}"})
    assert modules.keys() == {"dlperf", f"dlperf.{package}"}


@pytest.mark.parametrize("module", MODULES)
def test_modules_that_words_name_exist(module: str) -> None:
    """Whoever renames one changes what is said of it elsewhere."""
    named = re.findall(r"`dlperf\.([\w.]+)`", SOURCES[module])
    assert [name for name in named if not {name, name.rpartition(".")[0]} & set(MODULES)] == []


def arrows(module: str) -> set[str]:
    """Returns the modules and packages of `booktools` that one of its modules imports, also inside functions."""
    names = {name.removeprefix("booktools.") for name in imported(BUILD_SOURCES[module])}
    return {name for name in names if name in BUILD_MODULES} - {module, of(module)}


def test_the_root_of_booktools_holds_only_its_packages() -> None:
    assert {of(module) for module in BUILD_MODULES} == set(LAYERS)
    assert {path.name for path in BOOKTOOLS.glob("*.py")} == {"__init__.py", "__main__.py"}


@pytest.mark.parametrize("module", BUILD_MODULES)
def test_a_package_of_booktools_imports_only_those_below_it(module: str) -> None:
    below = LAYERS[: LAYERS.index(of(module)) + 1]
    assert sorted(name for name in arrows(module) if of(name) not in below) == []


def test_no_modules_of_booktools_import_one_another() -> None:
    """`TopologicalSorter` raises CycleError, which names them."""
    order = list(TopologicalSorter({module: arrows(module) for module in BUILD_MODULES}).static_order())
    assert sorted(order) == BUILD_MODULES


@pytest.mark.parametrize("module", BUILD_MODULES)
def test_imports_in_booktools_are_absolute(module: str) -> None:
    """`imported` sees no others, and the tests above ask it."""
    nodes = ast.walk(ast.parse(BUILD_SOURCES[module]))
    assert not [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level]


def test_the_packages_of_booktools_are_mapped_from_the_ground_up() -> None:
    assert re.findall(r"^``(\w+)``", booktools.__doc__ or "", re.M) == LAYERS


@pytest.mark.parametrize("package", [*LAYERS, "executions.short"])
def test_a_package_of_booktools_is_mapped_by_its_docstring(package: str) -> None:
    head = ast.get_docstring(ast.parse(BUILD_SOURCES[package])) or ""
    inside = {module.rpartition(".")[2] for module in BUILD_MODULES if module.rpartition(".")[0] == package}
    mapped = set(re.findall(r"^``(\w+)``", head, re.M))
    assert inside <= mapped
    assert all((BOOKTOOLS / package.replace(".", "/") / name).is_dir() for name in mapped - inside)


@pytest.mark.parametrize("file", ["Makefile", "CONTRIBUTING.md", "README.md", "pyproject.toml", "_config.yml"])
def test_modules_of_booktools_that_other_files_name_exist(file: str) -> None:
    named = re.findall(r"\bbooktools\.([\w.]*\w)", (ROOT / file).read_text(encoding="utf-8"))
    assert [name for name in named if not {name, name.rpartition(".")[0]} & set(BUILD_MODULES)] == []


@pytest.mark.parametrize("module", BUILD_MODULES)
def test_modules_of_booktools_that_words_name_exist(module: str) -> None:
    named = re.findall(r"`booktools\.([\w.]+)`", BUILD_SOURCES[module])
    assert [name for name in named if not {name, name.rpartition(".")[0]} & set(BUILD_MODULES)] == []


def test_tests_of_booktools_lie_in_the_package_of_their_module() -> None:
    here = {path.stem.removeprefix("test_"): path.parent.name for path in (ROOT / "tests/booktools").rglob("test_*.py")}
    places = {module.rpartition(".")[2]: of(module) for module in BUILD_MODULES if module.count(".") == 1}
    assert set(here.values()) <= set(LAYERS)
    assert {name: places.get(name, room) for name, room in here.items()} == here
