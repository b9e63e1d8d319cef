"""`make serve`: a save builds the site again and the open page reloads."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

import pytest
from playwright.sync_api import sync_playwright

from booktools.bench import CHROMIUM, FLAGS
from booktools.book import Book
from tests.conftest import edit


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def address(tiny: Book) -> Iterator[str]:
    """The address at which the tiny book is served, once it answers."""
    port = free_port()
    command = [sys.executable, "-m", "booktools", "serve", "--port", str(port)]
    server = subprocess.Popen(command, cwd=tiny.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}/"
    try:
        deadline = time.monotonic() + 90
        while True:
            try:
                urllib.request.urlopen(address, timeout=1).close()
                break
            except OSError:
                assert server.poll() is None, "the server ended"
                assert time.monotonic() < deadline, "the server does not answer"
                time.sleep(0.3)
        yield address
    finally:
        server.terminate()
        server.wait(10)


def test_a_save_reloads_the_open_page(tiny: Book, address: str) -> None:
    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, CHROMIUM)), None)
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        tab = browser.new_page()
        tab.goto(address + "tiny.html")
        assert tab.get_by_text("Add two numbers.").count() == 1
        tab.wait_for_timeout(1500)  # The page's socket to the server must be open before the save.
        edit(tiny.page("en", "tiny"), "Add two numbers.", "Add three numbers.")
        tab.get_by_text("Add three numbers.").wait_for(timeout=60_000)
        browser.close()
