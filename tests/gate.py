"""Everything that must pass, piece by piece: `make test` runs this, with any Python from 3.11 on and nothing else.

All pieces run, whatever failed before them. What a piece prints is kept in `_build/gate`, too. The end lists every
failed test with its first line, and what each piece took beside its budget. Where all passed, `_build/tested.json` says
which tree it was; ``--tested`` compares it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "_build" / "gate"
MARK = ROOT / "_build" / "tested.json"
BUDGETS = {"install": 300, "short": 480, "processes": 240, "gpu": 480, "browser": 300, "build": 360, "check": 240}
"""Each piece, a target of the Makefile, and the seconds for which it may keep a core busy; two quiet cores have twenty
minutes' worth of them. In the order in which they begin: what waits most beside one another, and last what never waits.
"""
AFTER = {"gpu": "short", "browser": "short"}
"""The piece that must have ended before another begins: rehearsals take from short executions what uses no GPU, and the
sites under test take them where no record is current."""
AT_ONCE = 2
"""How many pieces run at a time. Each waits for links and processes for a third of its time or more, which leaves a
core to another: on two Zen 5 cores all took 23 minutes so, for 31 minutes of a core. Beside three of them a process of
four seconds, the canary of a kit, had not answered after a minute on two Zen 3 cores.
"""
NOT_PASSED_ON = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "PYTHONDONTWRITEBYTECODE")
"""What pieces do not take from the environment: what another `make` says of its jobs, and what would have each of some
hundred processes compile the book and its tests anew."""
LAST_LINES = 15
GRACE_S = 60.0
"""How long a piece may take to end when all of it is interrupted."""


@dataclass
class Result:
    """What came of one piece: its seconds, those of its processes on a core, whether it passed, the tests by outcome,
    and each failure's first line."""

    piece: str
    seconds: float
    cpu_seconds: float
    passed: bool
    tests: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


class Piece:
    """A target of the Makefile that runs, in this process's group. What it prints goes to a file of its own."""

    def __init__(self, name: str, alone: bool) -> None:
        self.name, self.alone = name, alone
        self.report, self.log = REPORTS / f"{name}.xml", REPORTS / f"{name}.log"
        self.report.unlink(missing_ok=True)
        command = ["make", "--no-print-directory", name, f"REPORT=--junitxml={self.report}"]
        clean = {key: value for key, value in os.environ.items() if key not in NOT_PASSED_ON}
        self.found: Result | None = None
        self.shown, self.start = 0, time.monotonic()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=clean, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )

    def result(self) -> Result | None:
        """Returns what came of it, once it has ended; processes for which nobody waited are in no seconds."""
        if self.found:
            return self.found
        pid, status, used = os.wait4(self.process.pid, os.WNOHANG)
        if not pid:
            return None
        code = self.process.returncode = os.waitstatus_to_exitcode(status)
        taken = time.monotonic() - self.start
        self.found = Result(self.name, taken, used.ru_utime + used.ru_stime, code == 0)
        if self.report.is_file():
            read_report(self.report, self.found)
        if code and not self.found.failures:
            last = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-LAST_LINES:]
            said = [f"{self.name} ended with {code}; its last lines:", *(f"  {line.rstrip()}" for line in last)]
            self.found.failures = said
        return self.found

    def show(self) -> None:
        """Prints what it has printed: of one that is alone at any time, of others all at once when they have ended."""
        if self.found and not self.alone:
            print(f"\n=== {self.name}, {clock(self.found.seconds)} ===", flush=True)
        if self.found or self.alone:
            with self.log.open("rb") as log:
                log.seek(self.shown)
                sys.stdout.buffer.write(log.read())
                sys.stdout.flush()
                self.shown = log.tell()


def run(pieces: list[str], at_once: int = AT_ONCE) -> list[Result]:
    """Returns what came of these pieces, of which at most ``at_once`` run at a time, in the order of the table.

    Whatever interrupts this ends them too.
    """
    waiting, running, ended = list(pieces), list[Piece](), list[Piece]()
    try:
        while waiting or running:
            for name in startable(waiting, [each.name for each in running], at_once):
                waiting.remove(name)
                alone = at_once == 1 or name == "install" or len(pieces) == 1
                print(f"\n=== {name}{'' if alone else ' begins'} ===", flush=True)
                with signals_held_back():  # between its start and its place in the list nobody would end it
                    running.append(Piece(name, alone))
            time.sleep(0.1)
            with signals_held_back():  # whoever has been waited for cannot be waited for again
                ended += [piece for piece in running if piece.result()]
            for piece in running:
                piece.show()
            running = [piece for piece in running if not piece.found]
    except KeyboardInterrupt:  # a terminal's Ctrl-C has reached the pieces too
        end(running, (None, signal.SIGTERM, signal.SIGKILL))
        raise
    except BaseException:
        end(running, (signal.SIGTERM, signal.SIGKILL))
        raise
    found = {piece.name: piece.found for piece in ended if piece.found}
    return [found[name] for name in BUDGETS if name in found]


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Has SIGINT and SIGTERM handled only when the block has ended.

    By handlers, not by a mask: that, the block's child processes would inherit.
    """
    came: list[int] = []
    numbers = [each for each in (signal.SIGINT, signal.SIGTERM) if callable(signal.getsignal(each))]
    handlers = {each: signal.signal(each, lambda number, _: came.append(number)) for each in numbers}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    for number in came:
        signal.raise_signal(number)


def startable(waiting: list[str], running: list[str], at_once: int) -> list[str]:
    """Returns which of the pieces ``waiting`` begin now: `install` first and alone, none before what it comes after."""
    if "install" in (*waiting, *running):
        return [] if running else ["install"]
    ready = [name for name in waiting if AFTER.get(name) not in (*waiting, *running)]
    return ready[: max(0, at_once - len(running))]


def end(running: list[Piece], signals: tuple[signal.Signals | None, ...]) -> None:
    """Waits until these pieces have ended, after each of ``signals`` that they are sent as long as it has to be."""
    for number in signals:
        deadline = time.monotonic() + GRACE_S
        for piece in running:
            if number and not piece.result():
                piece.process.send_signal(number)
        while any(piece.result() is None for piece in running) and time.monotonic() < deadline:
            time.sleep(0.1)


def read_report(report: Path, result: Result) -> None:
    """Adds to ``result`` what pytest's report in JUnit's format says of each test."""
    for case in xml.parse(report).iter("testcase"):
        wrong = next((each for each in case if each.tag in ("failure", "error")), None)
        outcome = "failed" if wrong is not None else "skipped" if case.find("skipped") is not None else "passed"
        result.tests[outcome] += 1
        if wrong is not None:
            name = f"{case.get('classname', '').replace('.', '/')}::{case.get('name')}"
            result.failures.append(f"{name}: {first_line(wrong.get('message') or wrong.text or '')}")


def first_line(text: str) -> str:
    """Returns the first line of a message that is not empty, cut to fit a screen."""
    return next((line.strip()[:200] for line in text.splitlines() if line.strip()), "no message")


def clock(seconds: float) -> str:
    """Returns seconds as minutes and seconds."""
    return f"{round(seconds) // 60}:{round(seconds) % 60:02d}"


def summary(results: list[Result], took: float) -> Iterator[str]:
    """Yields the lines that end a run of so many seconds: the table, every failure, and the number of tests."""
    yield f"\n{'piece':<12}{'took':>8}{'of a core':>11}{'budget':>8}{'passed':>8}{'failed':>8}{'skipped':>9}"
    for each in results:
        counts = f"{each.tests['passed']:>8}{each.tests['failed']:>8}{each.tests['skipped']:>9}"
        over = "  over its budget" if each.cpu_seconds > BUDGETS[each.piece] else ""
        failed = "" if each.passed else "  FAILED"
        yield f"{times(each.piece, each.seconds, each.cpu_seconds, BUDGETS[each.piece])}{counts}{failed}{over}"
    busy, budget = sum(each.cpu_seconds for each in results), sum(BUDGETS[each.piece] for each in results)
    yield f"{times('together', took, busy, budget)}\n"
    for each in results:
        yield from (f"FAILED {line}" if not line.startswith(" ") else line for line in each.failures)
    tests = sum((each.tests for each in results), Counter[str]())
    yield f"{tests['passed']} passed, {tests['failed']} failed, {tests['skipped']} skipped"


def times(name: str, took: float, busy: float, budget: float) -> str:
    """Returns the first columns of a row: how long something took, for how long it kept cores busy, and its budget."""
    return f"{name:<12}{clock(took):>8}{clock(busy):>11}{clock(budget):>8}"


def tree() -> str:
    """Returns git's name of the tree at hand, changes that no commit holds and new files included; '' outside git."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "GIT_INDEX_FILE": str(Path(folder) / "index")}
        git = ["git", "-C", str(ROOT)]
        if subprocess.run([*git, "add", "--all"], env=environment, capture_output=True).returncode:
            return ""
        return subprocess.run([*git, "write-tree"], env=environment, capture_output=True, text=True).stdout.strip()


def processor() -> str:
    """Returns the processor's name, as far as the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def mark(results: list[Result], took: float, tested: str) -> None:
    """Writes which tree passed, when, in how many seconds altogether and for each piece, and on what."""
    said = {
        "tree": tested,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "took": round(took),
        "seconds": {each.piece: round(each.seconds) for each in results},
        "cpu_seconds": {each.piece: round(each.cpu_seconds) for each in results},
        "machine": f"{os.cpu_count()} x {processor()}, {platform.system()}, Python {platform.python_version()}",
    }
    MARK.write_text(json.dumps(said, indent=2) + "\n", encoding="utf-8")


def is_tested() -> bool:
    """Prints whether the tree at hand is the one that passed last, and returns it."""
    if not MARK.is_file():
        print("No tree has passed `make test` here yet.")
        return False
    said, here = json.loads(MARK.read_text(encoding="utf-8")), tree()
    same = said["tree"] == here
    print(f"The tree {said['tree'][:12]} passed on {said['date']} in {clock(said['took'])} on {said['machine']}.")
    print("It is the tree at hand." if same else f"The tree at hand is another, {here[:12]}: run `make test`.")
    return same


def main() -> int:
    """Returns the exit status: 0 where all pieces passed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pieces", nargs="*", metavar="piece", help=f"of {', '.join(BUDGETS)}; all without one")
    parser.add_argument("--tested", action="store_true", help="say whether the tree at hand is the one that passed")
    given = parser.parse_args()
    if given.tested:
        return 0 if is_tested() else 1
    if unknown := [piece for piece in given.pieces if piece not in BUDGETS]:
        parser.error(f"no such piece: {', '.join(unknown)}; there are {', '.join(BUDGETS)}")
    REPORTS.mkdir(parents=True, exist_ok=True)
    if not given.pieces:
        MARK.unlink(missing_ok=True)
    tested, start = tree(), time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    results = run(list(dict.fromkeys(given.pieces or BUDGETS)))
    took = time.monotonic() - start
    passed = all(each.passed for each in results)
    if passed and not given.pieces:
        if tree() == tested:
            mark(results, took, tested)
        else:
            print("The tree changed while it was tested: this run marks none.")
    print("\n".join(summary(results, took)), flush=True)
    return 0 if passed else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("Interrupted: this run marks no tree.")
