"""The trace that *Measuring* offers: both languages lead to a file that Perfetto would read."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from playwright.sync_api import Page

from booktools.source.book import Language
from tests.browser.conftest import counterpart, languages


@pytest.mark.parametrize("language", languages(), ids=lambda language: language.code)
def test_the_trace_of_a_step_can_be_taken_home(tab: Page, http_base: str, language: Language) -> None:
    tab.goto(http_base + counterpart("measuring.html", language))
    with tab.expect_download() as given:
        tab.locator(".dl-download a").click()
    file = given.value
    assert file.suggested_filename == "step.json.gz"
    trace = json.loads(gzip.decompress(Path(file.path()).read_bytes()))
    names = {event["name"] for event in trace["traceEvents"]}
    assert {"forward", "backward", "update", "aten::convolution_backward", "[memory]"} <= names
    assert "host_name" not in trace
