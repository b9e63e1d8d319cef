"""Write the locks: every file that the index has of a version in requirements.txt, by its SHA-256 (`make lock`).

uv resolves for all systems and Pythons at once. What only PyTorch's build for CUDA needs becomes a lock of its own,
since no marker tells one build from the other. Needs the standard library, and uv beside this Python.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from booktools.commands.install import CUDA_LOCK, LOCK, PINS

UV = (sys.executable, "-m", "uv", "pip", "compile", "--universal", "--python-version=3.11", "--generate-hashes")
HEAD = f"# Written by make lock from {PINS}: every file that may be installed, by its SHA-256.\n"
FOR_CUDA = r"nvidia-|cuda-|triton$"
NOT_OURS = r"sys_platform == 'win32'|implementation_name == 'pypy'"


def blocks(lock: str) -> dict[str, str]:
    """Returns the lines of each package in a lock, by its name: version, marker and hashes."""
    return {name: text for text, name in re.findall(r"^(([\w.-]+)==.*\n(?: .*\n)*)", lock, re.M)}


def split(resolved: str) -> tuple[str, str]:
    """Returns the lock for all, and the one of what only PyTorch's build for CUDA needs, by what uv resolved."""
    parts: tuple[list[str], list[str]] = ([HEAD], [HEAD])
    for name, text in blocks(resolved).items():
        if not re.search(NOT_OURS, text):
            parts[bool(re.match(FOR_CUDA, name))].append(text)
    return "".join(parts[0]), "".join(parts[1])


def main() -> int:
    """Writes both locks into the working folder; returns uv's exit status, which has said what is wrong."""
    done = subprocess.run([*UV, "--quiet", "--no-header", "--no-annotate", PINS], stdout=subprocess.PIPE, text=True)
    if done.returncode == 0:
        for name, text in zip((LOCK, CUDA_LOCK), split(done.stdout), strict=True):
            Path(name).write_text(text, encoding="utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
