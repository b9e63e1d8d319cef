"""Replace names of users, hosts and folders in an execution, and find what looks private in a record.

A record is published. `hide_names` takes out what this machine knows of itself, when a record is made or a kit runs;
`suspects` finds what looks private in a record that came from elsewhere. A kit carries this module to bare machines: it
needs the standard library only.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

COMMON = frozenset(("root", "user", "home", "admin", "runner", "ubuntu", "debian", "docker", "jovyan", "localhost"))
"""Names that tell of nobody."""
_OURS = r"(?:book|host|user|~)"
PATTERNS: Mapping[str, re.Pattern[str]] = {
    "a folder of a user": re.compile(r"(?:/home/|/Users/|/root/|[A-Z]:\\+Users\\+)[\w.-]+"),
    "a path of a machine": re.compile(r"(?<![\w.~/])/(?:work|mnt|media|data|scratch|srv|opt|tmp|var/folders)/[\w.-]+"),
    "a user at a host": re.compile(r"\b[a-z_][\w-]*@[a-z][\w-]*(?:\.[a-z][\w-]*)*\b"),
    "an address": re.compile(r"\b(?!10\.|127\.|0\.)(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?\b(?!\.\d)"),
}
"""What looks private, by what it would be. Hosts of the book's own networks begin with 10."""


def names() -> dict[str, str]:
    """Returns what this machine knows of itself, and what to write in its place; longer ones come first."""
    known = {os.path.expanduser("~"): "~", tempfile.gettempdir(): "tmp", str(Path.cwd()): "book"}
    for name in (socket.gethostname(), socket.gethostname().partition(".")[0]):
        known[name] = "host"
    with suppress(KeyError, OSError):  # a container may know its user by a number alone
        known[getpass.getuser()] = "user"
    telling = {name: word for name, word in known.items() if len(name) > 2 and name.lower() not in COMMON}
    return dict(sorted(telling.items(), key=lambda each: -len(each[0])))


def without_names(value: Any, known: Mapping[str, str]) -> Any:
    """Returns an output, or whatever is in it, with ``known`` names replaced wherever they are whole words."""
    if isinstance(value, str):
        for name, word in known.items():
            value = re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", word, value)
        return value
    if isinstance(value, list):
        return [without_names(each, known) for each in value]
    if isinstance(value, dict):
        return type(value)({key: without_names(each, known) for key, each in value.items()})
    return value


def hide_names(notebook: Any, known: Mapping[str, str]) -> None:
    """Replaces ``known`` names in the outputs of a notebook, but for a word that its page itself says."""
    words = "\n".join(cell.source for cell in notebook.cells)
    telling = {name: word for name, word in known.items() if name not in words}
    for cell in notebook.cells:
        if cell.get("outputs"):
            cell.outputs = without_names(cell.outputs, telling)


def suspects(value: Any) -> Iterator[str]:
    """Yields what looks private in an output, with what it would be."""
    if isinstance(value, str):
        for what, pattern in PATTERNS.items():
            yield from (f"{what}: {match[0]}" for match in pattern.finditer(value))
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from suspects(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from suspects(each)
