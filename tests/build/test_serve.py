"""`make serve`: a save builds the site again and the open page reloads."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import sync_playwright

from booktools.commands.bench import CHROMIUM, FLAGS
from booktools.source.book import Book
from tests.conftest import edit

TIMEOUT_S = 600
"""Seconds after which the server or the browser is taken to hang."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(condition: Callable[[], bool], log: Path) -> None:
    """Returns once the condition holds; fails with the server's log if that never happens."""
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def served(address: str) -> str:
    """Returns what the server answers; an empty string if it does not."""
    try:
        with urllib.request.urlopen(address, timeout=TIMEOUT_S) as answer:
            return answer.read().decode()
    except OSError:
        return ""


def end(server: subprocess.Popen[bytes]) -> None:
    """Ends a server, and a build that it may have begun."""
    started = psutil.Process(server.pid).children(recursive=True) if server.poll() is None else []
    server.kill()
    server.wait()
    for process in started:
        if process.is_running():
            process.kill()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The file to which the server writes."""
    return tmp_path / "log.txt"


@pytest.fixture
def address(copy: Book, log: Path) -> Iterator[str]:
    """The address at which the tiny book is served, once it answers."""
    for _ in range(5):  # another program may take the port before the server does
        port = free_port()
        address = f"http://127.0.0.1:{port}/"
        command = [sys.executable, "-m", "booktools", "serve", "--port", str(port)]
        with log.open("wb") as said:
            server = subprocess.Popen(command, cwd=copy.root, stdout=said, stderr=said)
        try:
            wait_for(lambda: server.poll() is not None or bool(served(address)), log)  # noqa: B023
            if server.poll() is None:
                yield address
                return
        finally:
            end(server)
        assert "Address already in use" in log.read_text(), log.read_text()
    pytest.fail(f"no port was free: {log.read_text()}")


def test_a_save_reloads_the_open_page(copy: Book, address: str, log: Path) -> None:
    wait_for(lambda: "Start watching changes" in log.read_text(), log)
    watching, page = time.time(), copy.page("en", "tiny")
    edit(page, "Add two numbers.", "Add both numbers.")
    wait_for(lambda: "Add both numbers." in served(address + "tiny.html"), log)  # its first look at files is over
    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, CHROMIUM)), None)
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=1000 * TIMEOUT_S)
        tab = browser.new_page()
        tab.set_default_timeout(1000 * TIMEOUT_S)
        tab.goto(address + "tiny.html")
        assert tab.get_by_text("Add both numbers.").count() == 1
        wait_for(lambda: "Browser Connected" in log.read_text(), log)  # who is told to reload
        while time.time() < watching + 3:  # the server passes over what changes in its first two seconds
            time.sleep(0.1)
        edit(page, "Add both numbers.", "Add three numbers.")
        tab.get_by_text("Add three numbers.").wait_for()
        browser.close()
