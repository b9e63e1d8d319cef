"""What tells of a reader is taken out of a record, or found in it."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from booktools.commands import privacy
from booktools.commands.recording import without_warnings
from booktools.executions.records import Machine, recorded_machines
from booktools.source.book import Book
from tests.conftest import ROOT

KNOWN = {"/home/ada/book": "book", "/home/ada": "~", "lovelace.example.org": "host", "lovelace": "host", "ada": "user"}


def test_names_of_this_machine_are_replaced_wherever_they_are_words() -> None:
    outputs = [
        {"output_type": "stream", "text": "/home/ada/book/code/x.py on lovelace by ada, adaptive, lovelace-2\n"},
        {"data": {"text/html": "<p>lovelace.example.org</p>", "application/json": {"cwd": "/home/ada", "n": 3}}},
    ]
    assert privacy.without_names(outputs, KNOWN) == [
        {"output_type": "stream", "text": "book/code/x.py on host by user, adaptive, lovelace-2\n"},
        {"data": {"text/html": "<p>host</p>", "application/json": {"cwd": "~", "n": 3}}},
    ]


def test_this_machine_knows_its_folders_and_longer_ones_come_first() -> None:
    known = list(privacy.names())
    assert str(Path.cwd()) in known
    assert known == sorted(known, key=lambda each: -len(each))


def test_a_user_without_a_name_has_none_to_replace(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*given: object) -> None:
        raise KeyError("getpwuid(): uid not found: 12345")

    for name in ("HOME", "LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    assert "user" not in privacy.names().values()


@pytest.mark.parametrize(("text", "what"), [
    ("File /home/ada/x.py", "a folder of a user: /home/ada"),
    (r"C:\Users\Ada\x.py", "a folder of a user: C:\\Users\\Ada"),
    ("wrote /scratch/run7", "a path of a machine: /scratch/run7"),
    ("ada@lovelace.example.org", "a user at a host: ada@lovelace.example.org"),
    ("listens on 192.168.1.7:5570", "an address: 192.168.1.7:5570"),
])  # fmt: skip
def test_what_looks_private_is_found_wherever_it_is(text: str, what: str) -> None:
    assert what in list(privacy.suspects([{"data": {"text/plain": [text]}}]))


@pytest.mark.parametrize(
    "text", ["10.0.0.1:5571 in 1.5 s", "torch 2.13.0", "a / b", "https://example.org/data/x", "@jit"]
)
def test_what_is_the_books_own_is_not(text: str) -> None:
    assert list(privacy.suspects(text)) == []


def test_a_record_has_no_warnings_and_no_names_but_those_that_the_page_itself_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(privacy, "names", lambda: {"/home/ada": "~", "hopper": "host", "ring": "user"})
    cell = nbformat.v4.new_code_cell("ring(4)")
    cell.outputs = [
        nbformat.v4.new_output("stream", name="stderr", text="/home/ada/x.py: warning"),
        nbformat.v4.new_output("stream", text="ring on hopper, /home/ada/x.py\n"),
    ]
    path = tmp_path / "page.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    assert [output.text for output in without_warnings(path).cells[0].outputs] == ["ring on host, ~/x.py\n"]


@pytest.mark.parametrize("machine", recorded_machines(Book(ROOT)), ids=lambda machine: machine.name)
def test_no_committed_record_tells_of_anybody(machine: Machine) -> None:
    for page, done in machine.executions.items():
        outputs = [done.notebook.metadata, *(cell.get("outputs", []) for cell in done.notebook.cells)]
        assert (page, sorted(set(privacy.suspects(outputs)))) == (page, [])
