"""Files that a page offers: what a cell wrote stands packed in its output, and the build puts it beside the page."""

from __future__ import annotations

import base64
import gzip
from pathlib import Path

from dlperf import records

MIME = "application/vnd.dlperf.download+json"
"""The JSON of a file: its ``name``, and its ``content``, packed by gzip, in base64."""


def offer(key: str, path: str | Path) -> None:
    """Packs the file at ``path``, keeps it under ``key`` for the page to offer as ``name.gz``, and removes it.

    Outside a notebook there is no page, and the file stays.
    """
    display = records._notebook_display()
    if display is None:
        return
    path = Path(path)
    content = base64.b64encode(gzip.compress(path.read_bytes(), mtime=0)).decode()
    path.unlink()
    name = f"{path.name}.gz"
    data = {records.PREFIX + MIME: {"name": name, "content": content}, f"{records.PREFIX}text/plain": name}
    display(data, raw=True, metadata={"scrapbook": {"name": key, "mime_prefix": records.PREFIX}})
