"""Make the environment in `.venv`, saying at each step what is done, how long it may take and how far it is.

``python code/booktools/commands/install.py`` (`make install`) needs the standard library only. What fails is named
with its remedy; what was downloaded is kept, so that another call goes on from there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

FOLDER, MARK = ".venv", "ready"
PINS, LOCK = "requirements.txt", "requirements.lock"
CPU_LOCK, CUDA_LOCK = "requirements-cpu.lock", "requirements-cuda.lock"
PYTHON = f"{FOLDER}/bin/python"
PIP = (PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off")
CHECK = (PYTHON, "-m", "pip", "check", "--disable-pip-version-check")
NOT_THERE = "No matching distribution", "ResolutionImpossible"
"""What pip says where no index has a version: the second word where its settings hold a constraint on the package."""
LOCKED = ("--require-hashes", "--no-deps", "--only-binary=:all:")
"""Each file must have a hash of the lock; none brings others along, and none is built by tools that no lock names."""
SUPPORTED = (3, 11), (3, 12), (3, 13)
"""The versions of Python that requirements.txt was locked for."""
NEEDED_BYTES = 3 * 10**9
"""What the environment takes on the disk, with PyTorch for the CPU."""
WITH_CUDA = "7 GB with PyTorch for NVIDIA's GPUs"
EVERY_S = 15
"""How often a line says how far it is where no terminal shows it."""
STEPS = (
    ("an empty environment in .venv", "seconds"),
    (
        "{count} packages, each file by its hash in requirements.lock",
        "two to five minutes; seconds where all are there",
    ),
    ("the book's own package", "seconds"),
)
REMEDIES = (
    (
        r"DO NOT MATCH THE HASHES.*\n\s+\S+ from (?:\S*/)?([^/#\s]+)",
        "{} has none of the hashes that its lock allows, and was not installed. If it was damaged on its way, "
        "pip cache purge and another try help. If it is a PyTorch for the CPU (+cpu) that requirements-cpu.lock "
        "lacks, docs/runner.md says how to let it in. Otherwise somebody may have changed it.",
    ),
    (
        r"which is not installed|but you have",
        "A package lacks what it needs. If something else was installed into .venv, rm -r .venv and make; if .venv is "
        "new, requirements.lock lacks it on this system.",
    ),
    (
        r"No space left on device|Errno 28|Disk quota exceeded",
        "The disk is full. The environment takes about 3 GB (" + WITH_CUDA + "), and as much again while it is made: "
        "free some, or let TMPDIR and PIP_CACHE_DIR name folders on another disk.",
    ),
    (
        r"ProxyError|Tunnel connection failed|proxy",
        "The proxy did not let pip through. HTTPS_PROXY=http://user:password@host:port names it.",
    ),
    (
        r"CERTIFICATE_VERIFY_FAILED|SSLError",
        "A certificate was not accepted. Behind a proxy that has one of its own, PIP_CERT=/path/to/its.pem names it.",
    ),
    (
        r"NewConnectionError|ConnectTimeout|Read timed out|failure in name resolution|No matching distribution",
        "The packages could not be fetched. Behind a proxy, HTTPS_PROXY=http://host:port names it; for a mirror, "
        "PIP_INDEX_URL=https://… does.",
    ),
    (
        r"requested \(constraint\) (\S+)",
        "A constraint in pip's own settings, {}, leaves no file of the version that is locked. "
        "pip config list says where it stands; PIP_CONFIG_FILE=/dev/null make … sets aside all that pip's files say.",
    ),
    (
        r"ensurepip|No module named venv",
        "This Python cannot make environments. On Debian or Ubuntu: apt install python3-venv. "
        "PYTHON=/path/to/python make … names another one.",
    ),
)
"""What to do, by what was said."""


def remedy(said: str) -> str:
    """Returns what to do about what venv or pip said; a line that names neither cause where nothing is known."""
    for pattern, words in REMEDIES:
        if found := re.search(pattern, said):
            return words.format(*found.groups())
    return "What is said above is all that is known of it."


def pinned(lock: str) -> dict[str, str]:
    """Returns the version of each package that a requirements file pins, by its name as pip compares names."""
    return {_name(name): version for name, version in re.findall(r"^([\w.-]+)(?:\[.*?\])?==([^\s;]+)", lock, re.M)}


def differing(pins: dict[str, str], locked: dict[str, str]) -> list[str]:
    """Returns the packages that a lock has not at the version that is pinned."""
    return sorted(name for name, version in pins.items() if locked.get(name) != version)


def read(name: str) -> dict[str, str]:
    """Returns what a file of the working folder pins."""
    return pinned(Path(name).read_text(encoding="utf-8"))


def _name(text: str) -> str:
    return re.sub(r"[-_.]+", "-", text).lower()


def run(command: list[str], seen: deque[str]) -> Iterator[str]:
    """Yields the lines that a command prints, the last ones of which stay in ``seen``; RuntimeError where it fails."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if not re.match(r"\s+Expected\s+or ", line):  # a package has up to a hundred hashes, and one name
                seen.append(line.rstrip())
            yield line
    if process.returncode:
        raise RuntimeError(f"{' '.join(command[:4])} … failed with {process.returncode}")


class Progress:
    """Says how far it is: on a terminal in one line that changes, elsewhere in a line now and then."""

    def __init__(self) -> None:
        self.changes, self.last = sys.stdout.isatty(), time.monotonic()

    def say(self, text: str) -> None:
        """Shows how far it is."""
        if self.changes:
            print(f"\r\033[K      {text}", end="", flush=True)
        elif time.monotonic() - self.last >= EVERY_S:
            self.last = time.monotonic()
            print(f"      {text}", flush=True)

    def end(self) -> None:
        """Clears the line that changes."""
        if self.changes:
            print("\r\033[K", end="", flush=True)


def install_packages(lock: str, seen: deque[str]) -> None:
    """Lets pip install what a lock names, and shows which of these it has found; RuntimeError where it fails."""
    progress, wanted, found = Progress(), read(lock), set[str]()
    try:
        for line in run([*PIP, *LOCKED, "-r", lock], seen):
            match = re.match(r"(?:Collecting|Requirement already satisfied:) ([\w.-]+)", line)
            if match and _name(match[1]) in wanted:
                found.add(_name(match[1]))
                progress.say(f"{len(found)} of {len(wanted)} found: {match[1]}")
            elif line.startswith("Installing"):
                progress.say(f"{len(found)} of {len(wanted)} found; now they are unpacked")
    finally:
        progress.end()


def install_cpu_build(seen: deque[str]) -> None:
    """Installs PyTorch's build for the CPU where pip is shown one, which it would not prefer among those with hashes.

    Of one version pip prefers the file whose hash its index tells, which is PyPI's, to one in a folder.
    """
    try:
        install_packages(CPU_LOCK, seen)
    except RuntimeError:
        if not any(words in line for words in NOT_THERE for line in seen):
            raise
        seen.clear()


def is_for_cuda() -> bool:
    """Returns whether the PyTorch that is installed needs CUDA's libraries as packages; one for the CPU does not."""
    told = Path(FOLDER).glob("lib/python*/site-packages/torch-*.dist-info/METADATA")
    return any("\nRequires-Dist: nvidia-" in each.read_text(encoding="utf-8") for each in told)


def is_usable() -> bool:
    """Returns whether there is an environment that an earlier call had finished making, of a Python for the book."""
    ask = f"import pip, sys; sys.exit(sys.version_info[:2] not in {SUPPORTED})"
    return Path(PYTHON).exists() and not subprocess.run([PYTHON, "-c", ask], capture_output=True).returncode


def make() -> None:
    """Makes the environment; RuntimeError with the remedy where a step fails, whose last lines were printed."""
    pins, locked = read(PINS), read(LOCK)
    if changed := differing(pins, locked):
        raise RuntimeError(f"{LOCK} has other versions than {PINS} of {', '.join(changed)}: make lock writes it anew.")
    seen: deque[str] = deque(maxlen=15)

    def all_of(*command: str) -> None:
        deque(run(list(command), seen), maxlen=0)

    def packages() -> None:
        if not is_for_cuda():
            install_cpu_build(seen)
        install_packages(LOCK, seen)
        if is_for_cuda():
            print(f"      {len(read(CUDA_LOCK))} more, which this PyTorch needs for CUDA ({CUDA_LOCK})", flush=True)
            install_packages(CUDA_LOCK, seen)

    def book() -> None:
        all_of(*PIP, "--no-build-isolation", "--no-deps", "-e", ".")
        all_of(*CHECK)

    def environment() -> None:
        if not is_usable():
            all_of(sys.executable, "-m", "venv", "--clear", FOLDER)

    for number, ((what, long), do) in enumerate(zip(STEPS, (environment, packages, book), strict=True), 1):
        print(f"[{number}/{len(STEPS)}] {what.format(count=len(locked))} ({long})", flush=True)
        try:
            do()
        except (OSError, RuntimeError) as error:
            print("\n".join(seen), file=sys.stderr)
            said = remedy("\n".join([str(error), *seen]))
            raise RuntimeError(f"{error}. {said} What was downloaded is kept; make goes on from there.") from None
    Path(FOLDER, MARK).touch()


def main() -> int:
    """Makes the environment in the working folder; returns the exit status."""
    if sys.version_info[:2] not in SUPPORTED:
        here = ".".join(map(str, sys.version_info[:3]))
        print(
            f"The book needs Python 3.11, 3.12 or 3.13; {sys.executable} is {here}. "
            "PYTHON=/path/to/python make … names one.",
            file=sys.stderr,
        )
        return 1
    free = shutil.disk_usage(".").free
    if not Path(FOLDER).exists() and free < NEEDED_BYTES:
        print(
            f"{Path.cwd()}: {free / 1e9:.1f} GB are free, and the environment takes {NEEDED_BYTES / 1e9:.0f} GB "
            f"({WITH_CUDA}). Free some, or put the book on another disk.",
            file=sys.stderr,
        )
        return 1
    try:
        make()
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted. What was downloaded is kept; make goes on from there.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
