"""The trace that *Measuring* offers: both languages lead to a file that Perfetto would read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import languages


@pytest.mark.parametrize("folder", ["" if n == 0 else f"{each.code}/" for n, each in enumerate(languages())])
def test_the_trace_of_a_step_can_be_taken_home(browser: Browser, http_base: str, folder: str) -> None:
    page = browser.new_page()
    page.goto(f"{http_base}{folder}measuring.html")
    with page.expect_download() as given:
        page.locator(".dl-download a").click()
    file = given.value
    assert file.suggested_filename == "step.json.gz"
    trace = json.loads(gzip.decompress(Path(file.path()).read_bytes()))
    page.close()
    names = {event["name"] for event in trace["traceEvents"]}
    assert {"forward", "backward", "update", "aten::convolution_backward", "[memory]"} <= names
    assert "host_name" not in trace
