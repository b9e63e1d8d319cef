"""Whether an EPUB is whole: its structure, and what epubcheck says of it where that is installed."""

from __future__ import annotations

import io
import posixpath
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from xml.etree import ElementTree

DEBIAN_JAR = Path("/usr/share/java/epubcheck.jar")
"""Where Debian's package has it; its command needs a kernel that starts Java archives, which containers lack."""


def epubcheck() -> list[str]:
    """Returns the command that checks an EPUB; empty where there is none."""
    if DEBIAN_JAR.is_file() and shutil.which("java"):
        return ["java", "-jar", str(DEBIAN_JAR)]
    found = shutil.which("epubcheck")
    return [found] if found else []


def complaints(path: Path) -> list[str]:
    """Returns the errors and warnings that epubcheck has of a file."""
    done = subprocess.run([*epubcheck(), str(path)], capture_output=True, text=True, timeout=600)
    lines = (done.stdout + done.stderr).splitlines()
    found = [line for line in lines if re.match(r"(FATAL|ERROR|WARNING)", line)]
    assert found or done.returncode == 0, "\n".join(lines)
    return found


def check_structure(data: bytes) -> None:
    """Raises where an EPUB lacks or does not list a file, a page is not XML, an id stands twice, or a link is dead."""
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        files = {name: opened.read(name).decode() for name in opened.namelist()}
    assert next(iter(files.items())) == ("mimetype", "application/epub+zip")
    container = ElementTree.fromstring(files["META-INF/container.xml"])
    root = container.findall(".//{*}rootfile")[0].get("full-path", "")
    folder = posixpath.dirname(root)
    package = ElementTree.fromstring(files[root])
    items = {each.get("id"): f"{folder}/{each.get('href')}" for each in package.findall(".//{*}item")}
    unlisted = set(files) ^ {*items.values(), "mimetype", "META-INF/container.xml", root}
    assert not unlisted, f"not in the file, or not in its list: {sorted(unlisted)}"
    pages = [items[each.get("idref")] for each in package.findall(".//{*}itemref")]
    assert len(pages) == len(set(pages)) == len([name for name in files if name.endswith(".xhtml")])
    trees = {name: ElementTree.fromstring(files[name]) for name in pages}
    ids = {name: [tag.get("id") for tag in tree.iter() if tag.get("id")] for name, tree in trees.items()}
    for each in ids.values():
        assert len(each) == len(set(each)), sorted(map(str, each))
    for name, tree in trees.items():
        for link in tree.findall(".//{*}a"):
            address = link.get("href", "")
            if not re.match(r"[a-z]+:", address):
                file, _, anchor = address.partition("#")
                to = f"{folder}/{file}" if file else name
                assert to in ids, f"{name}: {address}"
                assert not anchor or anchor in ids[to], f"{name}: {address}"
