"""Register the predicates of claims, so that no limit changes without a recorded reason.

`chapters/claims/limits.json` keeps for each claim, outcome and bound its predicate as it was registered, and the
former ones with what is known of why they went, also of those that no page has any more. `check` refuses a predicate
that differs from the registered one.
"""

from __future__ import annotations

import ast
import datetime
import functools
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from booktools.claims.claims import Claim, Outcome, all_outcomes
from booktools.source.book import Book, BookError

BASES = {
    "theory": "limit: from theory",
    "midway": "limit: midway between what it and its opposite predict",
    "prediction": "limit: the error that a prediction states",
    "source": "limit: a published one",
    "decision": "limit: where a decision would change",
    "record": "limit: set after a first measurement",
}
"""Where the limit of a claim may come from, with the words for it on a page."""
GONE = "no page says it any more"
REMEDY = "python -m booktools limits {id} --because '…'"


@dataclass(frozen=True)
class Former:
    """A predicate that a claim had ``until`` a date, and ``why`` it went.

    ``limit`` is its limit in figures, as a page shows it, empty where another thing was measured or only words
    changed. ``measured`` is the number that failed it, and ``machine`` where; both are empty where none did, as far as
    is known.
    """

    predicate: str
    until: str
    why: str
    limit: str = ""
    measured: str = ""
    machine: str = ""

    def of_median(self, now: Registered) -> bool:
        """Returns whether it asked this of a median, where quartiles are asked now: the limit may be the same."""
        return "quartile" in now.predicate and "quartile" not in self.predicate and "median" in self.predicate


@dataclass(frozen=True)
class Registered:
    """The predicate of a claim, an outcome or a bound, and its former ones, oldest first.

    What no page has any more has none, only its former ones.
    """

    predicate: str
    former: tuple[Former, ...] = field(default=())


def register_of(book: Book) -> Path:
    """Returns the file of registered limits."""
    return book.chapters / "claims" / "limits.json"


def registered(book: Book) -> dict[str, Registered]:
    """Returns what is registered, by id, none where there is no file; BookError names one that cannot be read."""
    path = register_of(book)
    try:
        entries = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return {
            name: Registered(entry.get("predicate", ""), tuple(Former(**each) for each in entry.get("former", ())))
            for name, entry in entries.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BookError(f"{book.relative(path)}: cannot be read: {type(error).__name__}: {error}") from None


def problems(book: Book) -> list[str]:
    """Returns each limit that was changed, added or taken away without the register, with what to do about it.

    A book without a register has none that could be moved.
    """
    if not register_of(book).exists():
        return []
    return list(_problems(all_outcomes(book), registered(book), book.relative(register_of(book))))


def _problems(known: Mapping[str, Outcome], register: Mapping[str, Registered], where: str) -> Iterator[str]:
    for name, outcome in known.items():
        if name not in live(register):
            yield f"{where}: {name} is not registered: python -m booktools limits {name}"
        elif not same(register[name].predicate, now := predicate_of(outcome.holds)):
            yield (
                f"{where}: the limit of {name} has been changed, from\n    {register[name].predicate}\nto\n    {now}\n"
                f"set it back, or say why: {REMEDY.format(id=name)} (--help has the options)"
            )
        if isinstance(outcome, Claim) and outcome.basis not in BASES:
            yield f"{where}: {name} does not say where its limit comes from: basis= one of {', '.join(BASES)}"
    for name in sorted(live(register) - known.keys()):
        yield f"{where}: {name} is registered, and no page has it: python -m booktools limits {name}"


def register(book: Book, name: str, because: str = "", limit: str = "", measured: str = "", machine: str = "") -> None:
    """Registers the present predicate of ``name``, or of all that have none, and of those that no page has any more.

    A predicate that is registered differently, or goes, becomes a former one; the first needs ``because``. BookError
    says what is lacking; nothing is written then.
    """
    known, entries = all_outcomes(book), registered(book)
    if name and name not in known.keys() | entries.keys():
        raise BookError(f"there is no claim, outcome or bound {name!r}")
    today = datetime.date.today().isoformat()
    for each in [name] if name else sorted(known.keys() ^ live(entries)):
        now = predicate_of(known[each].holds) if each in known else ""
        before = entries.get(each, Registered(now))
        former = before.former
        if before.predicate and not same(before.predicate, now):
            if now and not because:
                raise BookError(f"{each} had another limit: say why it was changed: {REMEDY.format(id=each)}")
            former = (*former, Former(before.predicate, today, because or GONE, limit, measured, machine))
        entries[each] = Registered(now, former)
    write(book, entries)


def live(entries: Mapping[str, Registered]) -> set[str]:
    """Returns the ids that have a predicate now, and not only former ones."""
    return {name for name, entry in entries.items() if entry.predicate}


def write(book: Book, entries: Mapping[str, Registered]) -> None:
    """Writes the register, in the order of ids, without what is empty."""
    plain = {
        name: ({"predicate": entry.predicate} if entry.predicate else {})
        | ({"former": [{k: v for k, v in asdict(each).items() if v} for each in entry.former]} if entry.former else {})
        for name, entry in sorted(entries.items())
    }
    register_of(book).write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def same(one: str, other: str) -> bool:
    """Returns whether two predicates are one; Pythons differ in the quotes that they write."""
    return one.replace('"', "'") == other.replace('"', "'")


def predicate_of(holds: Callable[..., bool]) -> str:
    """Returns a predicate as Python writes it, with what it uses of its own file: the same however it is laid out."""
    code = holds.__code__
    tree = _tree(code.co_filename, Path(code.co_filename).stat().st_mtime_ns)
    kinds = (ast.Lambda, ast.FunctionDef)
    found = [n for n in ast.walk(tree) if isinstance(n, kinds) and n.lineno == code.co_firstlineno]
    node = next((n for n in found if getattr(n, "name", "<lambda>") == code.co_name), None)
    if node is None:
        raise BookError(f"{code.co_filename}:{code.co_firstlineno}: the predicate cannot be found here")
    given = {name: each.default for name, each in inspect.signature(holds).parameters.items()}
    given |= inspect.getclosurevars(holds).nonlocals
    inside = [f"{name} = {value!r}" for name, value in given.items() if value is not inspect.Parameter.empty]
    return "; ".join([_words(node), *_used(node, tree, set()), *inside])


@functools.cache
def _tree(path: str, mark: int) -> ast.Module:
    return ast.parse(Path(path).read_text(encoding="utf-8"))


def _used(node: ast.AST, tree: ast.Module, seen: set[str]) -> Iterator[str]:
    """Yields the constants and functions of the file that a predicate uses, directly or through others."""
    for name in sorted({each.id for each in ast.walk(node) if isinstance(each, ast.Name)} - seen):
        for given in tree.body:
            names = [given.name] if isinstance(given, ast.FunctionDef) else _targets(given)
            if name in names:
                seen.add(name)
                yield _words(given)
                yield from _used(given, tree, seen)


def _targets(given: ast.AST) -> list[str]:
    targets: list[Any] = given.targets if isinstance(given, ast.Assign) else []
    return [each.id for each in targets if isinstance(each, ast.Name)]


def _words(node: ast.AST) -> str:
    """Returns a node as source in one line, without docstrings."""
    if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
        node = ast.FunctionDef(**{**{k: getattr(node, k) for k in node._fields}, "body": node.body[1:]})
    return " ".join(ast.unparse(ast.fix_missing_locations(node)).split())
