"""Making the environment: how far it is, and what is said of what went wrong. pip is a stand-in that says its words."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections import deque
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.specifiers import SpecifierSet

from booktools.commands import install
from booktools.executions.fingerprint import locked
from tests.conftest import ROOT

HASHED = " ".join(install.LOCKED)
LOCK = "# a remark\ntorch==2.13.0\nzope.interface==1.0\nb_c[extra]==2 ; python_version > '3'\n"


def stand_in(monkeypatch: pytest.MonkeyPatch, folder: Path, *lines: str, status: int = 0) -> None:
    """Lets a script that prints lines and ends with a status stand for pip, in a folder with locks."""
    for name in (install.PINS, install.LOCK):
        (folder / name).write_text(LOCK, encoding="utf-8")
    (folder / install.CPU_LOCK).write_text("torch==2.13.0+cpu\n", encoding="utf-8")
    (folder / install.CUDA_LOCK).write_text("triton==3\nnvidia-x==1\n", encoding="utf-8")
    (folder / ".venv").mkdir()
    said = "".join(f"print({line!r})\n" for line in lines)
    script = f"import sys\nopen('asked', 'a').write(' '.join(sys.argv[1:]) + '\\n')\n{said}sys.exit({status})\n"
    (folder / "pip.py").write_text(script, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(install, "PIP", (sys.executable, "pip.py"))
    monkeypatch.setattr(install, "CHECK", (sys.executable, "pip.py", "check"))
    monkeypatch.setattr(install, "is_usable", lambda: True)


def test_the_lock_is_read_as_the_book_reads_it() -> None:
    text = (ROOT / "requirements.txt").read_text(encoding="utf-8")
    assert install.pinned(text) == locked(text)
    assert install.pinned(LOCK) == {"torch": "2.13.0", "zope-interface": "1.0", "b-c": "2"}


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
        f"[2/3] 3 packages, each file by its hash in requirements.lock ({install.STEPS[1][1]})",
        "      1 of 1 found: torch",
        "      1 of 1 found; now they are unpacked",
        "      1 of 3 found: torch",
        "      2 of 3 found: b-c",
        "      2 of 3 found; now they are unpacked",
        "[3/3] the book's own package (seconds)",
    ]
    assert (tmp_path / "asked").read_text().splitlines() == [
        f"{HASHED} -r requirements-cpu.lock",
        f"{HASHED} -r requirements.lock",
        "--no-build-isolation --no-deps -e .",
        "check",
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
        ("Could not fetch: ReadTimeoutError: Read timed out.", "PIP_INDEX_URL="),
        ("    The user requested (constraint) torch<=2.12", "torch<=2.12, leaves no file"),
        ("torch 2.13.0 requires triton, which is not installed.", "requirements.lock lacks it"),
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


@pytest.mark.parametrize(
    ("needs", "locks"),
    [
        ("jinja2", ["requirements-cpu.lock", "requirements.lock"]),
        ("nvidia-x", ["requirements.lock", "requirements-cuda.lock"]),
    ],
)
def test_which_locks_are_installed_follows_the_pytorch_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needs: str, locks: list[str]
) -> None:
    stand_in(monkeypatch, tmp_path)
    there = tmp_path / ".venv" / "lib" / "python3.12" / "site-packages" / "torch-2.13.0.dist-info"
    there.mkdir(parents=True)
    (there / "METADATA").write_text(f"Name: torch\nRequires-Dist: {needs}; platform_system == 'Linux'\n")
    assert install.main() == 0
    asked = (tmp_path / "asked").read_text().splitlines()
    assert [line.split()[-1] for line in asked[:-2]] == locks


@pytest.mark.parametrize("said", ["No matching distribution found", "ResolutionImpossible: for help visit"])
def test_where_no_index_has_a_build_for_the_cpu_that_of_the_lock_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    stand_in(monkeypatch, tmp_path)
    text = (tmp_path / "pip.py").read_text(encoding="utf-8")
    fails = f"if 'requirements-cpu.lock' in sys.argv:\n    sys.exit('{said}')\n"
    (tmp_path / "pip.py").write_text(text.replace("sys.exit(0)", f"{fails}sys.exit(0)"), encoding="utf-8")
    assert install.main() == 0
    assert f"{HASHED} -r requirements.lock" in (tmp_path / "asked").read_text().splitlines()


def test_a_lock_older_than_the_pins_is_named_before_anything_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stand_in(monkeypatch, tmp_path)
    (tmp_path / install.LOCK).write_text(LOCK.replace("torch==2.13.0", "torch==2.12.0"), encoding="utf-8")
    assert install.main() == 1
    assert "of torch: make lock" in capsys.readouterr().err
    assert not (tmp_path / "asked").exists()


def test_a_file_with_another_hash_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By pip itself, of a wheel made here: among as many hashes as NumPy has, and where its own is one of them."""
    stand_in(monkeypatch, tmp_path)
    (tmp_path / "pip.py").unlink()
    wheel = tmp_path / "b_c-2-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("b_c.py", "")
        archive.writestr("b_c-2.dist-info/METADATA", "Metadata-Version: 2.1\nName: b_c\nVersion: 2\n")
        archive.writestr("b_c-2.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("b_c-2.dist-info/RECORD", "")
    pip = (sys.executable, "-m", "pip", "install", "--isolated", "--no-index", "--find-links", ".", "--target", "there")
    monkeypatch.setattr(install, "PIP", pip)
    hashes = [hashlib.sha256(bytes([number])).hexdigest() for number in range(100)]

    def locks(*hashes: str) -> None:
        for name in (install.PINS, install.LOCK, install.CPU_LOCK):
            (tmp_path / name).write_text("b_c==2 " + " ".join(f"--hash=sha256:{each}" for each in hashes) + "\n")

    locks(*hashes)
    assert install.main() == 1
    assert (
        capsys.readouterr().err.splitlines()[-1].count(f"{wheel.name} has none of the hashes that its lock allows") == 1
    )
    assert not (tmp_path / "there").exists()
    locks(*hashes, hashlib.sha256(wheel.read_bytes()).hexdigest())
    install.install_packages(install.LOCK, deque(maxlen=15))
    assert (tmp_path / "there" / "b_c.py").exists()


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
