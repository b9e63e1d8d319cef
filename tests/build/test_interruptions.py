"""Builds that are stopped, killed, crowded or short of room: a whole site remains, and what is said is short."""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from booktools.site.disk_space import InsufficientSpaceFilter, is_full
from booktools.site.publish import mend, publish
from booktools.source.book import Book
from tests.conftest import edit, edit_both

KILL = "os.kill(os.getpid(), signal.SIGKILL)"
POINTS = {
    "while it copies": f"shutil.copytree = lambda *a, **k: (real_copytree(*a, **k), {KILL})",
    "once it has exchanged": f"publish.exchange = lambda *a: (real_exchange(*a), {KILL})",
    "between two renames, where there is no exchange": (
        "publish.ctypes.CDLL = lambda *a, **k: object()\n"
        f"pathlib.Path.rename = lambda self, to: (real_rename(self, to), str(to).endswith('old') and {KILL})"
    ),
}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A finished build and the site before it, each of two pages that belong together."""
    built, site = tmp_path / "work", tmp_path / "html"
    for folder, text in ((built, "new"), (site, "old")):
        folder.mkdir()
        for name in ("index.html", "page.html"):
            (folder / name).write_text(text)
    return built, site


def pages(site: Path) -> set[str]:
    return {path.name + ": " + path.read_text() for path in site.iterdir()}


NEW = {"index.html: new", "page.html: new"}
OLD = {"index.html: old", "page.html: old"}


def killed(point: str, built: Path, site: Path) -> None:
    """Publishes in a process that kills itself at ``point``."""
    script = (
        "import os, pathlib, shutil, signal\nfrom booktools.site import publish\n"
        "real_copytree, real_exchange, real_rename = shutil.copytree, publish.exchange, pathlib.Path.rename\n"
        f"{POINTS[point]}\npublish.publish(pathlib.Path({str(built)!r}), pathlib.Path({str(site)!r}))"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == -signal.SIGKILL


@pytest.mark.parametrize("point", POINTS)
def test_a_publication_that_is_killed_leaves_a_whole_site(folders: tuple[Path, Path], point: str) -> None:
    built, site = folders
    killed(point, built, site)
    mend(site)
    assert pages(site) in (OLD, NEW)
    assert sorted(path.name for path in site.parent.iterdir()) == ["html", "work"]
    publish(built, site)
    assert pages(site) == NEW


@pytest.mark.skipif(sys.platform != "linux", reason="renameat2 is Linux's")
@pytest.mark.parametrize("point", list(POINTS)[:2])
def test_where_folders_can_be_exchanged_the_site_is_never_gone(folders: tuple[Path, Path], point: str) -> None:
    built, site = folders
    killed(point, built, site)
    assert pages(site) in (OLD, NEW)


def test_an_old_site_is_mended_before_a_publication_fails(folders: tuple[Path, Path], tmp_path: Path) -> None:
    built, site = folders
    site.rename(tmp_path / "html.old")
    shutil.rmtree(built)
    with pytest.raises(Exception, match="could not be put in place"):
        publish(built, site)
    assert pages(site) == OLD


HOLD = "import sys\nfrom booktools.source.book import Book\nfrom booktools.site.lock import locked\n"
HOLD += "with locked(Book.find()):\n    print('held', flush=True)\n    sys.stdin.read()"


def holder(book: Book) -> subprocess.Popen[str]:
    book.build.mkdir(exist_ok=True)
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", HOLD], cwd=book.root, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )


def test_a_second_build_says_that_it_waits_and_then_goes_on(tiny: Book) -> None:
    with holder(tiny) as first:
        assert first.stdout
        assert first.stdout.readline() == "held\n"
        with holder(tiny) as second:
            assert second.stderr
            said = second.stderr.readline()
            assert said == f"Another build of this book is under way (process {first.pid}); this one waits for it.\n"
            assert second.poll() is None
            first.communicate("")
            assert second.communicate("")[0] == "held\n"
    assert (first.returncode, second.returncode) == (0, 0)


def test_what_a_killed_build_left_running_is_waited_for(tiny: Book) -> None:
    """A process that inherited the lock's descriptor holds it still, until it ends by itself."""
    tiny.build.mkdir()
    script = (
        "import os, signal, subprocess\n"
        "from booktools.source.book import Book\nfrom booktools.site.lock import locked\n"
        "with locked(Book.find()) as lock:\n    subprocess.Popen(['cat'], pass_fds=[lock])\n    " + KILL
    )
    killed = subprocess.Popen([sys.executable, "-c", script], cwd=tiny.root, stdin=subprocess.PIPE)
    assert killed.stdin
    assert killed.wait() == -signal.SIGKILL
    with holder(tiny) as second, killed.stdin as of_the_survivor:  # which ends when this is closed
        assert second.stderr
        said = second.stderr.readline()
        assert said == f"Another build of this book is under way (process {killed.pid}); this one waits for it.\n"
        assert second.poll() is None
        of_the_survivor.close()
        assert second.communicate("")[0] == "held\n"
    assert second.returncode == 0


TIMEOUT_S = 600
"""Seconds after which a build is taken to hang."""

BUILD = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # in a shell's background it would be ignored
from booktools.__main__ import main
sys.argv[1:] = ["build"]
sys.exit(main())
"""


@contextmanager
def started(book: Book) -> Iterator[subprocess.Popen[str]]:
    """Starts a build in a session of its own, as a terminal does; nothing of it outlives the block."""
    environment = {key: value for key, value in os.environ.items() if key != "MACHINE"}
    process = subprocess.Popen(
        [sys.executable, "-c", BUILD],
        cwd=book.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        left = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        for each in [process, *left]:
            each.kill()
        process.communicate()


def wait_for(process: subprocess.Popen[str], *files: Path) -> None:
    """Waits until a build has written these files."""
    deadline = time.monotonic() + TIMEOUT_S
    while not all(file.exists() for file in files):
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.1)


def stopped(process: subprocess.Popen[str]) -> str:
    """Presses Ctrl-C, and returns what the build says from then on; all that it had started has ended by then."""
    children = psutil.Process(process.pid).children(recursive=True)
    assert children
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=TIMEOUT_S)[0]
    try:
        assert process.returncode == 130, said
        assert said.rstrip().splitlines()[-1] == "Stopped. The site that was there is untouched."
        assert "Traceback" not in said
        assert not psutil.wait_procs(children, timeout=TIMEOUT_S)[1]
    finally:
        for child in children:
            if child.is_running():
                child.kill()
    return said


def test_ctrl_c_while_a_cell_runs_is_one_line_and_leaves_no_kernel(tiny: Book) -> None:
    edit_both(tiny, "tiny", "1 + 2", "import time\nopen('started', 'w').close()\ntime.sleep(3600)")
    edit(tiny.root / "_config.yml", "timeout: 300", "timeout: 3600")
    with started(tiny) as process:
        wait_for(process, tiny.notebooks / "started")
        said = stopped(process)
    plan, _, executing = said.rpartition("[2/3]")
    assert plan, said
    assert len(re.split(r"[\r\n]+", executing.strip())) < 8, said
    assert not (tiny.build / "html").exists()


def empty(tiny: Book) -> None:
    """Leaves the book one page in each language, with nothing to execute and nothing to claim."""
    tiny.page("en", "tiny").write_text("(tiny)=\n# A page without cells\n", encoding="utf-8")
    tiny.page("zh", "tiny").write_text("(tiny)=\n# 没有代码的一页\n", encoding="utf-8")
    (tiny.chapters / "claims" / "tiny.py").write_text("CLAIMS = ()\n")


HELD = """
import time


def hold(app, *_):
    open(f"held-{app.srcdir.name}", "w").close()
    time.sleep(3600)


def setup(app):
    app.connect("source-read", hold)
"""


def test_ctrl_c_while_a_language_is_built_is_one_line_and_leaves_no_process(tiny: Book) -> None:
    empty(tiny)
    (tiny.root / "held.py").write_text(HELD, encoding="utf-8")
    edit(tiny.root / "_config.yml", "sphinx:\n", "sphinx:\n  local_extensions:\n    held: ./\n")
    with started(tiny) as process:
        wait_for(process, *(tiny.root / f"held-{language.code}" for language in tiny.languages))
        stopped(process)
    assert not (tiny.build / "html").exists()


def test_a_full_disk_is_seen_through_other_errors() -> None:
    full, above = OSError(28, "No space left on device"), RuntimeError("while writing")
    above.__cause__ = full
    assert is_full(above)
    assert is_full(full)
    assert not is_full(OSError(13, "Permission denied"))
    assert not is_full(None)


def test_a_full_disk_is_seen_in_what_sphinx_warns_of() -> None:
    """It makes a warning of the error, and goes on: which page it was, and in which language, is chance."""
    found = InsufficientSpaceFilter()
    said = lambda text, *values: found.filter(logging.LogRecord("sphinx", logging.WARNING, "", 0, text, values, None))
    assert said("error writing file %s: %s", "a.html", PermissionError(13, "Permission denied"))
    assert not found.seen
    assert not said("error writing file %s: %s", "a.html", OSError(28, "No space left on device"))
    assert found.seen
    assert not said("cannot copy static file %r", OSError(28, "No space left on device"))
    assert said("undefined label: %s", "a")


def test_a_disk_that_fills_up_half_way_is_one_message(tiny: Book) -> None:
    """No page has cells, so nothing is executed; MathJax alone is larger than what there is."""
    empty(tiny)
    script = (
        "import sys; from booktools.site import disk_space; disk_space.FIXED = disk_space.PER_BYTE = 0\n"
        "from booktools.source.book import Book; from booktools.site.build import build\n"
        "sys.exit(build(Book.find(), quiet=True))"
    )
    (tiny.root / "build_here.py").write_text(script)
    shell = f"mkdir -p _build && mount -t tmpfs -o size=2m none _build && {sys.executable} build_here.py"
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", shell],
        cwd=tiny.root, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "MACHINE": ""},
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    assert re.search(r"_build: only \d+ MiB are free, a build needs about \d+ MiB more", done.stdout), done.stdout
    assert "Traceback" not in done.stdout
    assert len(done.stdout.strip().splitlines()) < 5, done.stdout
