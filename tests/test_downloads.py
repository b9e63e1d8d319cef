"""A file that a cell offers stands packed in its output."""

from __future__ import annotations

import base64
import gzip
import json

import pytest

from dlperf import downloads, records


def test_what_is_offered_can_be_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    monkeypatch.setattr(records, "_notebook_display", lambda: lambda data, **more: shown.append((data, more)))
    downloads.offer("page.trace", "step.json", json.dumps({"traceEvents": ["é"]}))
    [(data, more)] = shown
    file = data[records.PREFIX + downloads.MIME]
    assert file["name"] == "step.json.gz"
    assert json.loads(gzip.decompress(base64.b64decode(file["content"]))) == {"traceEvents": ["é"]}
    assert more["metadata"]["scrapbook"]["name"] == "page.trace"


def test_outside_a_notebook_there_is_no_page(capsys: pytest.CaptureFixture) -> None:
    downloads.offer("page.trace", "step.json", "{}")
    assert capsys.readouterr().out == ""
