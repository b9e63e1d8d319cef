"""Making the environment: how far it is, and what is said of what went wrong. pip is a stand-in that says its words."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections import deque
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.specifiers import SpecifierSet

from booktools.commands import install
from booktools.executions.fingerprint import locked
from tests.conftest import ROOT

LOCK = "# a remark\ntorch==2.13.0\nzope.interface==1.0\nb_c[extra]==2 ; python_version > '3'\n"


def stand_in(monkeypatch: pytest.MonkeyPatch, folder: Path, *lines: str, status: int = 0) -> None:
    """Lets a script that prints lines and ends with a status stand for pip, in a folder with a lock."""
    (folder / "requirements.txt").write_text(LOCK, encoding="utf-8")
    (folder / ".venv").mkdir()
    said = "".join(f"print({line!r})\n" for line in lines)
    script = f"import sys\nopen('asked', 'a').write(' '.join(sys.argv[1:]) + '\\n')\n{said}sys.exit({status})\n"
    (folder / "pip.py").write_text(script, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(install, "PIP", (sys.executable, "pip.py"))
    monkeypatch.setattr(install, "is_usable", lambda: True)


def test_the_lock_is_read_as_the_book_reads_it() -> None:
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    assert install.pinned(text) == set(locked(text))
    assert install.pinned(LOCK) == {"torch", "zope-interface", "b-c"}


def test_each_step_says_what_it_does_and_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [
        "Collecting torch==2.13.0",
        "Requirement already satisfied: b-c in a",
        "Collecting filelock",
        "Installing x",
    ]
    stand_in(monkeypatch, tmp_path, *found)
    monkeypatch.setattr(install, "EVERY_S", 0)
    assert install.main() == 0
    assert capsys.readouterr().out.splitlines() == [
        "[1/3] an empty environment in .venv (seconds)",
        f"[2/3] 3 packages, at the versions that requirements.txt locks ({install.STEPS[1][1]})",
        "      1 of 3 found: torch",
        "      2 of 3 found: b-c",
        "      2 of 3 found; now they are unpacked",
        "[3/3] the book's own package (seconds)",
    ]
    assert (tmp_path / "asked").read_text().splitlines() == [
        "-r requirements.txt",
        "--no-build-isolation --no-deps -e .",
    ]
    assert (tmp_path / ".venv" / "ready").exists()


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "The disk is full"),
        ("WARNING: Retrying after connection broken by 'ProxyError('Cannot connect to proxy.')'", "HTTPS_PROXY="),
        (
            "SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate",
            "PIP_CERT=",
        ),
        ("ERROR: No matching distribution found for torch==2.13.0", "PIP_INDEX_URL="),
        ("was not created successfully because ensurepip is not", "apt install python3-venv"),
        ("Segmentation fault", "all that is known"),
    ],
)
def test_what_fails_is_named_with_its_remedy_and_is_not_taken_for_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], said: str, remedy: str
) -> None:
    stand_in(monkeypatch, tmp_path, said, status=2)
    assert install.main() == 1
    seen = capsys.readouterr().err
    assert said in seen
    assert remedy in seen.splitlines()[-1]
    assert not (tmp_path / ".venv" / "ready").exists()


def test_too_small_a_disk_is_named_before_anything_is_downloaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(monkeypatch, tmp_path)
    (tmp_path / ".venv").rmdir()
    monkeypatch.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=10**9))
    assert install.main() == 1
    assert "1.0 GB are free, and the environment takes 3 GB" in capsys.readouterr().err
    assert not (tmp_path / "asked").exists()


def test_versions_are_those_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = SpecifierSet(project["requires-python"])
    assert [(3, minor) for minor in range(30) if wanted.contains(f"3.{minor}.1")] == list(install.SUPPORTED)


@pytest.mark.parametrize("version", [(3, 10, 12), (3, 14, 0)])
def test_a_wrong_python_is_named_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], version: tuple[int, ...]
) -> None:
    stand_in(monkeypatch, tmp_path)
    python = SimpleNamespace(version_info=version, executable="/here/python", stderr=sys.stderr)
    monkeypatch.setattr(install, "sys", python)
    assert install.main() == 1
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith(f"The book needs Python 3.11, 3.12 or 3.13; /here/python is {'.'.join(map(str, version))}.")
    assert "PYTHON=/path/to/python" in said
    assert not (tmp_path / "asked").exists()


def python_of(version: tuple[int, int], path: Path) -> Path:
    """Returns a script that says to be a Python of another version, and runs what comes after ``-c``."""
    code = f"import sys; sys.version_info = {(*version, 0)}; exec(sys.argv[1])"
    path.write_text(f'#!/bin/sh\n[ "$1" = -c ] && exec {sys.executable} -c "{code}" "$2"\necho started\n')
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("target", ["test", "unlocked", ".venv/ready"])
@pytest.mark.parametrize("version", [(3, 10), (3, 14), None])
def test_make_names_a_wrong_python_at_once(tmp_path: Path, target: str, version: tuple[int, int] | None) -> None:
    python = python_of(version, tmp_path / "python") if version else tmp_path / "absent"
    command = ["make", "-f", str(ROOT / "Makefile"), target, f"PYTHON={python}"]
    (tmp_path / "requirements.txt").touch()
    (tmp_path / "pyproject.toml").touch()
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode
    remedy = f"PYTHON={python} is none of them. PYTHON=/path/to/python make … names one."
    assert done.stderr.splitlines()[0] == f"The book needs Python 3.11, 3.12 or 3.13; {remedy}"
    assert "started" not in done.stdout


def test_an_environment_of_another_python_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    python_of((3, 13), tmp_path / install.PYTHON)
    assert install.is_usable()
    python_of((3, 10), tmp_path / install.PYTHON)
    assert not install.is_usable()


def test_an_interrupted_one_says_that_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*given: object) -> None:
        raise KeyboardInterrupt

    stand_in(monkeypatch, tmp_path)
    monkeypatch.setattr(install, "install_packages", interrupted)
    assert install.main() == 130
    assert "goes on from there" in capsys.readouterr().err
    assert not (tmp_path / ".venv" / "ready").exists()


def test_the_last_lines_stay_and_the_failure_names_the_command() -> None:
    seen: deque[str] = deque(maxlen=1)
    command = [sys.executable, "-c", "print('one'); print('two'); raise SystemExit(3)"]
    with pytest.raises(RuntimeError, match="failed with 3"):
        list(install.run(command, seen))
    assert list(seen) == ["two"]
