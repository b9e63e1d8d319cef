"""The addresses of scripts and style sheets: they change with the files, and with nothing else."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from booktools.site import look


def test_the_mark_of_scripts_and_styles_follows_from_their_content_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = look.mark_of_files.__wrapped__()
    shutil.copytree(look.THEME, tmp_path / "theme")
    for path in (tmp_path / "theme").rglob("*"):
        os.utime(path, (1, 1))
    monkeypatch.setattr(look, "THEME", tmp_path / "theme")
    assert look.mark_of_files.__wrapped__() == before
    (tmp_path / "theme" / "static" / "book.css").write_text("p {}", encoding="utf-8")
    assert look.mark_of_files.__wrapped__() != before
