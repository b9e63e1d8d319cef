"""The locks: they are of the pinned versions, whole, and what the Makefile and the Dockerfile install from."""

from __future__ import annotations

import re

import pytest

from booktools.commands.hashes import FOR_CUDA, LONG_LOCK, LONG_PINS, blocks, split
from booktools.commands.install import CPU_LOCK, CUDA_LOCK, LOCK, LOCKED, PINS, differing, pinned
from booktools.commands.kit import needs
from tests.conftest import ROOT

RESOLVED = """\
nvidia-x==1 ; sys_platform == 'linux' \\
    --hash=sha256:aa \\
    --hash=sha256:bb
torch==2 \\
    --hash=sha256:cc
appnope==1 ; sys_platform == 'darwin' \\
    --hash=sha256:dd
colorama==4 ; sys_platform == 'win32' \\
    --hash=sha256:ee
"""


def read(name: str) -> str:
    """Returns a file of the book."""
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_lock_has_every_version_that_is_pinned_and_all_that_these_need() -> None:
    pins, locked = pinned(read(PINS)), pinned(read(LOCK))
    assert differing(pins, locked) == []
    needed = set().union(*(needs(pins, python) for python in ("3.11", "3.12", "3.13")))
    assert needed - locked.keys() - pinned(read(CUDA_LOCK)).keys() == set()  # of which PyTorch for the CPU needs none
    assert pinned(read(CPU_LOCK)) == {"torch": pins["torch"] + "+cpu"}


def test_what_make_long_needs_besides_is_locked_apart() -> None:
    pins, locked = pinned(read(LONG_PINS)), pinned(read(LONG_LOCK))
    assert pins == locked
    assert pins.keys() & pinned(read(LOCK)).keys() == set()


def test_a_version_that_differs_or_is_lacking_is_found() -> None:
    assert differing({"a": "1", "b": "1", "c": "1"}, {"a": "1", "b": "2", "d": "1"}) == ["b", "c"]


@pytest.mark.parametrize("name", [LOCK, CPU_LOCK, CUDA_LOCK, LONG_LOCK])
def test_every_package_has_hashes_and_no_lock_names_a_host(name: str) -> None:
    text = read(name)
    assert [name for name, lines in blocks(text).items() if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", lines)] == []
    assert "://" not in text
    entries = len(re.findall(r"^[^#\s]", text, re.M))
    assert entries == len(pinned(text)) == len(blocks(text)) > 0


def test_what_only_cuda_needs_stands_apart() -> None:
    assert [name for name in pinned(read(LOCK)) if re.match(FOR_CUDA, name)] == []
    assert {"triton", "nvidia-cublas", "cuda-toolkit"} <= pinned(read(CUDA_LOCK)).keys()


def test_what_uv_resolves_is_parted_and_other_systems_are_left_out() -> None:
    locks = split(RESOLVED, {"torch"})
    assert {name: list(blocks(text)) for name, text in locks.items()} == {
        LOCK: ["appnope"],
        CUDA_LOCK: ["nvidia-x"],
        LONG_LOCK: ["torch"],
    }
    assert locks[CUDA_LOCK].endswith(RESOLVED.partition("torch")[0])
    assert pinned(locks[CUDA_LOCK]) == {"nvidia-x": "1"}


def test_makefile_and_dockerfile_install_from_the_locks() -> None:
    """What `install.py` calls pip with is held in `test_install`."""
    rule = re.search(
        r"^\$\(READY\): (.*)\n(?:\t.*\n)*\t@\$\(PYTHON\) code/booktools/commands/install.py$", read("Makefile"), re.M
    )
    assert rule is not None
    assert "$(wildcard requirements*.lock)" in rule[1]
    assert LOCKED[0] == "--require-hashes"
    copies, installs = re.findall(r"^(COPY .*|RUN .*pip install.*)$", read("Dockerfile").replace("\\\n", " "), re.M)[:2]
    assert {LOCK, CUDA_LOCK} <= set(copies.split())
    assert {*LOCKED, LOCK, CUDA_LOCK} <= set(installs.split())
