"""Everything that must pass, piece by piece: `make test` runs this, with any Python from 3.11 on and nothing else.

All pieces run, whatever failed before them. The end lists every failed test with its first line, and what each piece
took beside its budget. Where all passed, `_build/tested.json` says which tree it was; ``--tested`` compares it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "_build" / "gate"
MARK = ROOT / "_build" / "tested.json"
BUDGETS = {"install": 150, "check": 120, "short": 240, "build": 180, "processes": 120, "gpu": 240, "browser": 150}
"""Each piece, a target of the Makefile, and the seconds that it may take on two quiet cores."""
LAST_LINES = 15


@dataclass
class Result:
    """What came of one piece: its seconds, whether it passed, the tests by outcome, and each failure's first line."""

    piece: str
    seconds: float
    passed: bool
    tests: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def run(piece: str) -> Result:
    """Runs one target of the Makefile, showing what it prints."""
    report = REPORTS / f"{piece}.xml"
    report.unlink(missing_ok=True)
    print(f"\n=== {piece} ===", flush=True)
    start, tail = time.monotonic(), deque[str](maxlen=LAST_LINES)
    command = ["make", "--no-print-directory", piece, f"REPORT=--junitxml={report}"]
    clean = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, cwd=ROOT, env=clean, text=True, **streams) as process:
        assert process.stdout
        for line in process.stdout:
            print(line, end="", flush=True)
            tail.append(line.rstrip())
    result = Result(piece, time.monotonic() - start, process.returncode == 0)
    if report.is_file():
        read_report(report, result)
    if not result.passed and not result.failures:
        result.failures = [f"{piece} ended with {process.returncode}; its last lines:", *(f"  {line}" for line in tail)]
    return result


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


def summary(results: list[Result]) -> Iterator[str]:
    """Yields the lines that end a run: the table, every failure, and the number of tests."""
    yield f"\n{'piece':<12}{'took':>8}{'budget':>8}{'passed':>8}{'failed':>8}{'skipped':>9}"
    for each in results:
        counts = f"{each.tests['passed']:>8}{each.tests['failed']:>8}{each.tests['skipped']:>9}"
        over = "  over its budget" if each.seconds > BUDGETS[each.piece] else ""
        failed = "" if each.passed else "  FAILED"
        yield f"{each.piece:<12}{clock(each.seconds):>8}{clock(BUDGETS[each.piece]):>8}{counts}{failed}{over}"
    took, budget = sum(each.seconds for each in results), sum(BUDGETS[each.piece] for each in results)
    yield f"{'together':<12}{clock(took):>8}{clock(budget):>8}\n"
    for each in results:
        yield from (f"FAILED {line}" if not line.startswith(" ") else line for line in each.failures)
    tests = sum((each.tests for each in results), Counter[str]())
    yield f"{tests['passed']} passed, {tests['failed']} failed, {tests['skipped']} skipped"


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


def mark(results: list[Result], tested: str) -> None:
    """Writes which tree passed, when, in how many seconds for each piece, and on what."""
    said = {
        "tree": tested,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": {each.piece: round(each.seconds) for each in results},
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
    took = clock(sum(said["seconds"].values()))
    print(f"The tree {said['tree'][:12]} passed on {said['date']} in {took} on {said['machine']}.")
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
    MARK.unlink(missing_ok=True)
    tested = tree()
    results = [run(piece) for piece in given.pieces or BUDGETS]
    passed = all(each.passed for each in results)
    if passed and not given.pieces:
        if tree() == tested:
            mark(results, tested)
        else:
            print("The tree changed while it was tested: this run marks none.")
    print("\n".join(summary(results)), flush=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
