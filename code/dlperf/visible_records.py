"""Show what `dlperf.records.record` stores: in a notebook that is read without the book's pages, under its cell.

A page of the book shows recorded values in its text, and nothing below the cell. A plain notebook has no such text.
"""

from __future__ import annotations

from typing import Any

from dlperf.downloads import MIME as FILE
from dlperf.records import PREFIX

DERIVED = (".iqr", ".percent")
"""Endings of keys that say again what another one says."""


def shown(data: dict[str, Any], key: str) -> dict[str, Any] | None:
    """Returns the mime bundle of a record as Jupyter shows it: figures and tables as such, values after their key.

    Returns None for a key that says again what another one does.
    """
    plain = {mime.removeprefix(PREFIX): content for mime, content in data.items()}
    if key.endswith(DERIVED):
        return None
    figures: dict[str, Any] = {mime: plain[mime] for mime in ("image/svg+xml", "text/html") if mime in plain}
    if figures:
        return {"text/plain": key, **figures}
    sign = ":" if FILE in plain else " ="
    return {"text/plain": f"{key}{sign} {plain.get('text/plain', '')}"}


def show(message: dict[str, Any]) -> dict[str, Any] | None:
    """Returns a kernel's message with a record in it made visible; None for one that need not be sent."""
    content = message.get("content", {})
    key = content.get("metadata", {}).get("scrapbook", {}).get("name")
    if message.get("msg_type") != "display_data" or key is None:
        return message
    data = shown(content["data"], key)
    return None if data is None else {**message, "content": {**content, "data": data}}


def enable() -> None:
    """Lets this notebook show its records from now on; outside a notebook nothing happens."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return
    publisher: Any = getattr(get_ipython(), "display_pub", None)
    if hasattr(publisher, "register_hook"):
        publisher.unregister_hook(show)  # once, however often this is called
        publisher.register_hook(show)
