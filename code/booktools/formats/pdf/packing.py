"""A PDF that Chromium printed, with an outline, what it says of itself, and the same bytes from the same pages."""

from __future__ import annotations

import io
import time
from collections.abc import Iterable, Mapping

import pikepdf

from booktools.formats.volume import Entry


def pack(data: bytes, outline: Iterable[Entry], facts: Mapping[str, str], language: str, when: int) -> bytes:
    """Returns a PDF of Chromium's with this outline, these facts and dates, its objects compressed together.

    ``when`` is in seconds of UTC. Entries of the outline lead to the targets of links, so each needs a link somewhere.
    """
    with pikepdf.open(io.BytesIO(data)) as pdf:
        _add_outline(pdf, outline)
        date = pikepdf.String(time.strftime("D:%Y%m%d%H%M%S+00'00'", time.gmtime(when)))
        for name in [str(key) for key in pdf.docinfo]:
            if name != "/Producer":
                del pdf.docinfo[name]
        for key, value in facts.items():
            pdf.docinfo[f"/{key}"] = pikepdf.String(value)
        pdf.docinfo["/CreationDate"] = pdf.docinfo["/ModDate"] = date
        if "/ID" in pdf.trailer:
            del pdf.trailer["/ID"]  # of which the half would stay
        pdf.Root.Lang = pikepdf.String(language)
        pdf.Root.PageMode = pikepdf.Name.UseOutlines
        pdf.Root.ViewerPreferences = pikepdf.Dictionary(DisplayDocTitle=True)
        file = io.BytesIO()
        pdf.save(
            file,
            deterministic_id=True,
            object_stream_mode=pikepdf.ObjectStreamMode.generate,
            recompress_flate=True,
            compress_streams=True,
        )
    return file.getvalue()


def _add_outline(pdf: pikepdf.Pdf, outline: Iterable[Entry]) -> None:
    """Gives a PDF its outline, whose entries stay closed."""
    places = pdf.Root.get("/Dests", pikepdf.Dictionary())
    with pdf.open_outline() as shown:
        shown.root.clear()
        above = [shown.root]
        for entry in outline:
            item = pikepdf.OutlineItem(entry.text, destination=pikepdf.Array(places[f"/{entry.id}"]))
            item.is_closed = True
            del above[entry.level :]
            above[-1].append(item)
            above.append(item.children)
