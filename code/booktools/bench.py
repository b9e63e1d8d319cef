"""What building costs: cold, again, and after one word; and whether a page asks another host for anything.

Works on a copy of the book, so that nothing of yours is touched. ``make bench-build`` runs it.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from booktools.book import Book, BookError
from dlperf.environment import environment
from dlperf.measurement import Measurement

REPEATS = 3
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]


def bench(book: Book) -> None:
    """Measures and prints every figure, each the median of `REPEATS`, the sides of a ratio in turn."""
    with tempfile.TemporaryDirectory() as folder:
        both, english = (_copy(book, Path(folder) / name) for name in ("both", "english"))
        _keep_first_language(english)
        times: dict[str, list[float]] = {}
        words = itertools.count()
        for _ in range(REPEATS):
            for name, copy in (("cold, English alone", english), ("cold, both languages", both)):
                for built in ("_build", "notebooks"):
                    shutil.rmtree(copy.root / built, ignore_errors=True)
                times.setdefault(name, []).append(_timed(copy, "build"))
        for _ in range(REPEATS):
            times.setdefault("again, nothing changed", []).append(_timed(both, "build"))
            page = both.page(both.languages[0].code, both.pages[1])
            page.write_text(page.read_text(encoding="utf-8") + f"\nword{next(words)}\n", encoding="utf-8")
            twin = both.page(both.languages[1].code, both.pages[1])
            twin.write_text(twin.read_text(encoding="utf-8") + "\n词\n", encoding="utf-8")
            times.setdefault("again, one word changed", []).append(_timed(both, "build"))
            times.setdefault("parity and lints", []).append(_timed(both, "check"))
        found = {name: Measurement(tuple(values), "s", name, 1, environment()) for name, values in times.items()}
        for name, measurement in found.items():
            print(f"{name}: {measurement.summary()}")
        print(f"both languages over English alone: {found['cold, both languages'] / found['cold, English alone']:.3f}")
        print(f"requests to another host: {foreign_requests(both.build / 'html')}")


def _copy(book: Book, target: Path) -> Book:
    files = subprocess.run(["git", "ls-files", "-z"], cwd=book.root, capture_output=True, text=True, check=True).stdout
    for name in filter(None, files.split("\0")):
        if (book.root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(book.root / name, target / name)
    return Book(target)


def _keep_first_language(book: Book) -> None:
    path = book.root / "_config.yml"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    entries = [line for line in lines if line.strip().startswith("- { code:")]
    path.write_text("".join(line for line in lines if line not in entries[1:]), encoding="utf-8")
    book.__dict__.pop("config", None)


def _timed(book: Book, what: str) -> float:
    tool = str(Path(sys.executable).with_name("jupyter-book"))
    command = [tool, "build", ".", "-q"] if what == "build" else [sys.executable, "-m", "booktools", "check"]
    start = time.perf_counter()
    done = subprocess.run(command, cwd=book.root, capture_output=True, text=True, env={**os.environ, "MACHINE": ""})
    if done.returncode:
        raise BookError(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.perf_counter() - start


def foreign_requests(site: Path) -> int:
    """Returns how many requests all pages of a site together make to any other host, in a real browser."""
    from playwright.sync_api import sync_playwright

    asked: list[str] = []
    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, CHROMIUM)), None)
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        tab = browser.new_page()
        tab.on("request", lambda request: asked.append(request.url))
        for page in sorted(site.rglob("*.html")):
            tab.goto(page.as_uri(), wait_until="load")
        browser.close()
    return sum(not url.startswith(("file:", "data:", "blob:")) for url in asked)
