"""Offer files that a cell recorded for download: Sphinx copies them beside the page."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from myst_nb.core.render import MimeData, NbElementRenderer
from sphinx.addnodes import download_reference

from dlperf.downloads import MIME


class File:
    """Renders a recorded file as a link to it, for MyST-NB."""

    mime_priority_overrides: ClassVar[Sequence[tuple[str, str, int | None]]] = (("*", MIME, 1),)

    @staticmethod
    def handle_mime(renderer: NbElementRenderer, data: MimeData, inline: bool) -> list[nodes.Element] | None:
        if data.mime_type != MIME:
            return None
        content = json.loads(data.content) if isinstance(data.content, str) else data.content
        packed = base64.b64decode(content["content"])
        env = renderer.renderer.sphinx_env
        folder = Path(env.doctreedir) / "downloads" / hashlib.sha256(packed).hexdigest()[:12]
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / content["name"]
        path.write_bytes(packed)
        size = f"{len(packed) / 1024:.0f} KiB"
        link = download_reference("", "", reftarget="/" + os.path.relpath(path, env.srcdir), refdoc=env.docname)
        link += nodes.literal("", content["name"], classes=["xref", "download"])
        return [nodes.paragraph("", "", link, nodes.Text(f" ({size})"), classes=["dl-download"])]
