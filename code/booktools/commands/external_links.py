"""Ask every external address that the sources cite whether it still answers.

``python -m booktools.commands.external_links`` needs the standard library and a network. An address is gone when its
host says so (404, 410) or nobody answers, three times; one whose host refuses programs (401, 403, 429, 5xx) is counted
and named, and is no failure.
"""

from __future__ import annotations

import re
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from urllib.parse import urlsplit

SOURCES = ("chapters/**/*.md", "chapters/*.bib", "code/dlperf/**/*.py", "docs/*.md", "*.md", "Dockerfile")
ADDRESS = re.compile(r"https?://[^\s<>\"'`{}\[\]\\|^]+")
GONE = frozenset({404, 410})
ANSWERS = frozenset(range(200, 400))
NO_ANSWER = 0
"""The status of an address at which nobody answers."""
TRIES = 3
TIMEOUT_S = 60
HEADERS = {"User-Agent": "Mozilla/5.0 (compatible; link check of a book)", "Accept": "*/*"}

Asked = tuple[str, int]


def addresses(root: Path) -> dict[str, list[str]]:
    """Returns the files that cite each external address, those of this machine and of examples left out."""
    found: dict[str, list[str]] = {}
    for path in sorted({path for pattern in SOURCES for path in root.glob(pattern)}):
        for address in cited(path.read_text(encoding="utf-8")):
            found.setdefault(address, []).append(str(path.relative_to(root)))
    return found


def cited(text: str) -> list[str]:
    """Returns the external addresses in a text, each once, without the punctuation that ends a sentence."""
    found = dict.fromkeys(_trimmed(match) for match in ADDRESS.findall(text))
    hosts = {address: urlsplit(address).hostname or "" for address in found}
    return [address for address, host in hosts.items() if "." in host and not host.startswith("127.")]


def _trimmed(address: str) -> str:
    """Returns an address without what closes the sentence or the parenthesis around it."""
    address = re.split("[，。；：、）》」]", address)[0].rstrip(".,;:!?*_")
    while address.endswith(")") and address.count(")") > address.count("("):
        address = address[:-1].rstrip(".,;:!?*_")
    return address


def ask(address: str) -> int:
    """Returns the status with which an address answers; `NO_ANSWER` where none comes."""
    request = urllib.request.Request(address.partition("#")[0], headers=HEADERS)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
    except (OSError, ValueError):
        return NO_ANSWER


def ask_patiently(address: str, ask: Callable[[str], int] = ask, pause: Callable[[float], None] = time.sleep) -> int:
    """Returns the status of an address, asking again, later each time, where nobody answers or the server fails."""
    status = NO_ANSWER
    for tried in range(TRIES):
        status = ask(address)
        if status in ANSWERS or NO_ANSWER < status < 500:
            return status
        pause(5.0 * (tried + 1))
    return status


def ask_all(asked: Iterable[str], ask: Callable[[str], int] = ask_patiently) -> list[Asked]:
    """Returns the status of each address; hosts are asked side by side, one address of each at a time."""
    host = lambda address: urlsplit(address).netloc
    hosts = [list(group) for _, group in groupby(sorted(asked, key=host), key=host)]
    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda group: [(address, ask(address)) for address in group], hosts))
    return [each for group in done for each in group]


def summary(found: dict[str, list[str]], asked: Iterable[Asked]) -> tuple[list[str], bool]:
    """Returns the lines that say what became of each address that did not answer, and whether none is gone."""
    lines, gone, refused = [], 0, 0
    for address, status in asked:
        if status in ANSWERS:
            continue
        is_gone = status in GONE or status == NO_ANSWER
        gone, refused = gone + is_gone, refused + (not is_gone)
        said = "no answer" if status == NO_ANSWER else str(status)
        lines.append(f"{'GONE' if is_gone else 'cannot tell'} ({said}): {address} in {', '.join(found[address])}")
    lines.append(f"{len(found)} addresses: {gone} gone, {refused} refuse to say")
    return lines, gone == 0


def main(root: Path) -> int:
    """Asks every address that the sources under ``root`` cite; returns the exit status: 1 where one is gone."""
    found = addresses(root)
    lines, fine = summary(found, ask_all(found))
    print("\n".join(lines))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main(Path.cwd()))
