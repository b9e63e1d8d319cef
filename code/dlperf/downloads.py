"""Files that a page offers: what a cell wrote stands packed in its output, and the build puts it beside the page."""

from __future__ import annotations

import base64
import gzip

from dlperf import records

MIME = "application/vnd.dlperf.download+json"
"""The JSON of a file: its ``name``, and its ``content``, packed by gzip, in base64."""


def offer(key: str, name: str, content: str) -> None:
    """Keeps a text under ``key``, packed by gzip, for the page to offer as ``name.gz``.

    Outside a notebook there is no page, and nothing happens.
    """
    display = records._notebook_display()
    if display is None:
        return
    packed = base64.b64encode(gzip.compress(content.encode(), mtime=0)).decode()
    data = {records.PREFIX + MIME: {"name": f"{name}.gz", "content": packed}, f"{records.PREFIX}text/plain": name}
    display(data, raw=True, metadata={"scrapbook": {"name": key, "mime_prefix": records.PREFIX}})
