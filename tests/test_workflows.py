"""The workflows: they run what the Makefile has, keep strangers from the GPU, and publish what was checked."""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from booktools.commands import external_links, github, publication
from booktools.site import cover, provenance
from booktools.source.book import BookError
from tests import published
from tests.clones import clone_of_the_tree, git, run_line
from tests.conftest import ROOT
from tests.workflows import ELSEWHERE, FOLDER, STANDING_IN, Workflow, problems, targets, workflows

KNOWN = targets()
RECIPE = (ROOT / "Makefile").read_text(encoding="utf-8")
LINTERS = {
    name: re.search(rf"^\t@\$\(BIN\)/({name} .*\.github/workflows.*)$", RECIPE, re.M)
    for name in ("zizmor", "check-jsonschema")
}
"""The lines of `make check` that lint the workflows."""


def lint(name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the line of `make check` for a linter on the workflows in a folder."""
    line = LINTERS[name]
    assert line, f"make check does not run {name}"
    command = line[1].replace(".github/workflows", str(folder))
    return subprocess.run(
        f"{Path(sys.executable).parent}/{command}", shell=True, cwd=ROOT, capture_output=True, text=True
    )


# --- the workflows as they are ---


def test_there_are_the_five() -> None:
    assert [each.name for each in workflows()] == ["book", "check", "long", "publish", "weekly"]


@pytest.mark.parametrize("workflow", workflows(), ids=lambda each: each.name)
def test_a_workflow_keeps_the_rules(workflow: Workflow) -> None:
    assert problems(workflow, KNOWN) == []


@pytest.mark.parametrize("name", LINTERS)
def test_a_linter_finds_nothing(name: str) -> None:
    done = lint(name, FOLDER)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_linter_is_told_to_look_away() -> None:
    text = "".join(each.text for each in workflows())
    assert "zizmor: ignore" not in text
    assert not [*ROOT.glob("zizmor.y*ml"), *ROOT.glob(".github/zizmor.y*ml")]
    assert "--offline" in RECIPE


def test_every_line_can_be_made() -> None:
    """A dry run of all of them at once: their targets, and those that these need."""
    ran = sorted({target for each in workflows() for step in each.steps for target in step.targets})
    done = subprocess.run(["make", "-n", "PYTHON=python3", *ran], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_lines_that_are_not_run_here_are_lines_of_a_workflow() -> None:
    ran = {target for each in workflows() for step in each.steps for target in step.targets}
    assert ELSEWHERE.keys() <= ran


def test_a_line_is_run_in_a_clone_of_the_tree_at_hand(tmp_path: Path) -> None:
    """One that needs no environment; `tests/long/test_workflows.py` runs those of the workflows."""
    clone = clone_of_the_tree(tmp_path / "clone")
    assert set(run_line(clone, "make help").split()) >= KNOWN
    assert git(clone, "status", "--porcelain") == ""
    with pytest.raises(AssertionError, match="No rule to make target"):
        run_line(clone, "make nothing-of-the-kind | cat")


def test_every_hash_stands_in_the_list_of_those_seen_elsewhere() -> None:
    listed = (ROOT / "docs" / "runner.md").read_text(encoding="utf-8")
    used = {step.entry["uses"] for each in workflows() for step in each.steps if "uses" in step.entry}
    assert used
    assert {action for action in used if action.partition("@")[2] not in listed} == set()


def test_check_covers_the_versions_that_the_book_supports() -> None:
    check = next(each for each in workflows() if each.name == "check")
    assert [job["strategy"]["matrix"]["python"] for job in check.jobs.values()] == [["3.11", "3.12", "3.13"]] * 2


def test_the_container_is_nobody_special_and_makes_the_book() -> None:
    """It was never built here, so what can be read of it is held."""
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    said = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    given = dict(said)
    assert given["FROM"].startswith("nvidia/cuda:")
    assert given["USER"].isdigit()
    assert int(given["USER"]) > 0
    assert json.loads(given["CMD"]) == ["make", "book"]
    assert [name for name, _ in said].index("USER") < [rest for _, rest in said].index(
        "PIP_NO_CACHE_DIR=1 make install"
    )
    assert {name for name, _ in said} <= {"FROM", "SHELL", "ENV", "RUN", "USER", "WORKDIR", "COPY", "CMD"}
    assert any("NOT BUILT" in line for line in lines)


# --- planted faults ---

FAULTS = {
    "a stranger's change with main's rights": (
        "check",
        "  pull_request:",
        "  pull_request_target:",
        "pull_request_tar",
    ),
    "a tag": ("check", "checkout@08c6903cd8c0fde910a37f88322edcfb5dd907a8", "checkout@v5", "not pinned"),
    "no version": ("check", "7a8 # v5.0.0", "7a8", "which version"),
    "an unknown target": ("check", "make check", "make nothing", "no target nothing"),
    "another command": ("check", "make check", "pip install x", "something else"),
    "two commands": ("check", "make check", "make check; id", "something else"),
    "an expression that a shell runs": ("check", "make check", "make ${{ github.event.ref }}", "an expression"),
    "a stranger's change on the GPU": (
        "check",
        "runs-on: ubuntu-24.04",
        "runs-on: [self-hosted, gpu]",
        "pull_req",
    ),
    "a runner of their choice": (
        "check",
        "runs-on: ubuntu-24.04",
        "runs-on: ${{ github.head_ref }}",
        "reaches",
    ),
    "a change on the book's runner": ("book", "  schedule:", "  pull_request:\n  schedule:", "pull_request reaches"),
    "a push of any branch": ("book", "  schedule:", "  push:\n  schedule:", "any branch"),
    "a branch beside main": (
        "book",
        "if: github.ref == 'refs/heads/main'\n    runs-on: [",
        "runs-on: [",
        "beside main",
    ),
    "no approval": ("book", "    environment: gpu\n", "", "approval"),
    "a right at the top": ("long", "permissions: {}", "permissions: read-all", "at the top"),
    "a right too much": ("long", "contents: read", "contents: write", "beyond"),
    "no rights listed": ("long", "    permissions:\n      contents: read # to check the tree out\n", "", "one by one"),
    "an installation with a right": ("weekly", "run: make report", "run: make check", "installs"),
    "the token in the tree": ("long", "persist-credentials: false", "fetch-depth: 1", "leaves the token"),
    "a secret": ("weekly", "${{ github.token }}", "${{ secrets.TOKEN }}", "a secret"),
    "the token for all": ("weekly", "          GH_TOKEN", "          TOKEN", "to gh alone"),
    "a cache of what is published": ("publish", '"3.12"', '"3.12"\n          cache: pip', "of a cache"),
    "a shell of its own": ("long", "run: make long", "run: make long\n        shell: sh -x {0}", "sets shell"),
    "a container": ("long", "    timeout-minutes: 350", "    container: x\n    timeout-minutes: 350", "sets container"),
    "make told otherwise": ("book", "          MACHINE:", "          MAKEFLAGS:", "sets MAKEFLAGS"),
    "no end": ("long", "    timeout-minutes: 350\n", "", "no limit"),
}


@pytest.mark.parametrize(("name", "text", "fault", "said"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_is_found(name: str, text: str, fault: str, said: str) -> None:
    workflow = next(each for each in workflows() if each.name == name)
    assert text in workflow.text
    found = problems(Workflow(name, workflow.text.replace(text, fault)), KNOWN)
    assert any(said in each for each in found), found


@pytest.mark.parametrize(
    ("linter", "text", "fault", "said"),
    [
        ("zizmor", "  pull_request:", "  pull_request_target:", "dangerous-triggers"),
        ("zizmor", "@08c6903cd8c0fde910a37f88322edcfb5dd907a8", "@v5", "unpinned-uses"),
        ("zizmor", "make check", "make ${{ github.event.pull_request.title }}", "template-injection"),
        ("zizmor", "persist-credentials: false", "fetch-depth: 1", "artipacked"),
        ("check-jsonschema", "runs-on:", "run-on:", "'runs-on' is a required property"),
    ],
)
def test_so_does_a_linter(tmp_path: Path, linter: str, text: str, fault: str, said: str) -> None:
    changed = (FOLDER / "check.yml").read_text(encoding="utf-8").replace(text, fault)
    (tmp_path / ".github" / "workflows").mkdir(parents=True)
    (tmp_path / ".github" / "workflows" / "check.yml").write_text(changed, encoding="utf-8")
    done = lint(linter, tmp_path / ".github" / "workflows")
    assert done.returncode != 0
    assert said in done.stdout + done.stderr


# --- what a name from outside can do ---


@pytest.mark.parametrize("name", ['a"; touch bad; "', "$(shell touch bad)", "`touch bad`", "a\\", "a\ntouch bad"])
@pytest.mark.parametrize("given", ["variable", "argument"])
def test_a_machines_name_runs_nothing(tmp_path: Path, name: str, given: str) -> None:
    environment, arguments = ({"MACHINE": name}, []) if given == "variable" else ({}, [f"MACHINE={name}"])
    command = ["make", "-f", str(ROOT / "Makefile"), "record", "BIN=/bin", "READY=", *arguments]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, **environment}, capture_output=True, text=True)
    assert done.returncode != 0
    assert "lower-case letters" in done.stderr
    assert list(tmp_path.iterdir()) == []


# --- opening a change, opening an issue ---

GH = """#!/bin/sh
printf '%s\\n' "$*" >> "$GH_LOG"
case "$1 $2" in
"issue list") cat "$GH_ISSUES" ;;
"pr create") echo https://github.com/o/r/pull/1 ;;
esac
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone of a repository with one record, and a stand-in for gh that notes what it is asked."""
    for name, value in {"HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}.items():
        monkeypatch.setenv(name, value)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "gh").write_text(GH)
    (tools / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GH_LOG", str(tmp_path / "asked"))
    monkeypatch.setenv("GH_ISSUES", str(tmp_path / "issues"))
    (tmp_path / "issues").write_text("[]")
    clone = tmp_path / "clone"
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
    subprocess.run([*git, "init", "-q", "--bare", str(tmp_path / "remote")], check=True)
    subprocess.run([*git, "clone", "-q", str(tmp_path / "remote"), str(clone)], check=True, capture_output=True)
    (clone / "records" / "old").mkdir(parents=True)
    (clone / "records" / "old" / "page.ipynb").write_text("{}")
    for command in (["add", "-A"], ["commit", "-q", "-m", "first"], ["push", "-q", "origin", "HEAD:main"]):
        subprocess.run([*git, *command], cwd=clone, check=True, capture_output=True)
    monkeypatch.chdir(clone)
    return clone


def asked(repository: Path) -> str:
    """Returns what gh was asked."""
    log = repository.parent / "asked"
    return log.read_text() if log.is_file() else ""


def test_a_change_adds_the_record_and_nothing_else(repository: Path) -> None:
    (repository / "records" / "new").mkdir()
    (repository / "records" / "new" / "page.ipynb").write_text("{}")
    (repository / "records" / "old" / "page.ipynb").write_text("changed")
    (repository / "beside.txt").write_text("not part of it")
    address = github.propose({"MACHINE": "new", "GITHUB_RUN_ID": "7"})
    assert address == "https://github.com/o/r/pull/1"
    show = ["git", "--git-dir", str(repository.parent / "remote"), "show", "--format=%an", "--name-status"]
    shown = subprocess.run([*show, "record-new-7"], capture_output=True, text=True, check=True).stdout.split()
    assert shown == ["github-actions[bot]", "A", "records/new/page.ipynb"]
    assert "pr create --base main --head record-new-7 --title Record new" in asked(repository)


def test_a_record_that_is_there_already_opens_none(repository: Path) -> None:
    assert github.propose({"MACHINE": "old"}) == ""
    assert asked(repository) == ""


@pytest.mark.parametrize("name", ["", "New", "../old", "old;id", "$(id)", "none"])
def test_no_record_of_that_name_opens_none(repository: Path, name: str) -> None:
    with pytest.raises(SystemExit, match=r"machine's name|no such record"):
        github.propose({"MACHINE": name})
    assert asked(repository) == ""


def write_notebooks(repository: Path, text: str = "{}") -> None:
    """Writes one where `make notebooks` does."""
    folder = repository / github.NOTEBOOKS[0]
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "en").mkdir(parents=True)
    (folder / "en" / "page.ipynb").write_text(text)


def test_the_notebooks_replace_those_of_before(repository: Path) -> None:
    with pytest.raises(SystemExit, match="make notebooks writes them"):
        github.push({})
    for text in ("first", "second"):
        write_notebooks(repository, text)
        branch = github.push({})
    read = ["git", "--git-dir", str(repository.parent / "remote")]
    shown = subprocess.run([*read, "show", f"{branch}:en/page.ipynb"], capture_output=True, text=True, check=True)
    assert shown.stdout == "second"
    logged = subprocess.run([*read, "log", "--format=%an", branch], capture_output=True, text=True, check=True)
    assert logged.stdout.split() == ["github-actions[bot]"]


def test_notebooks_are_pushed_to_where_pages_look_for_them() -> None:
    assert (f"_build/{provenance.NOTEBOOKS}", provenance.NOTEBOOKS) == github.NOTEBOOKS


def test_each_job_that_failed_opens_an_issue_of_its_own(repository: Path) -> None:
    said = {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "o/r", "GITHUB_RUN_ID": "7"}
    titles = github.report({"UNLOCKED": "failure", "LINKS": "failure", **said})
    assert titles == [title for title, _ in github.ISSUES.values()]
    assert asked(repository).count("issue create") == 2
    assert "https://github.com/o/r/actions/runs/7" in asked(repository)


def test_an_issue_that_is_open_gets_a_comment(repository: Path) -> None:
    title = github.ISSUES["LINKS"][0]
    (repository.parent / "issues").write_text(json.dumps([{"number": 3, "title": title}]))
    assert github.report({"UNLOCKED": "success", "LINKS": "failure"}) == [title]
    assert "issue comment 3" in asked(repository)
    assert "issue create" not in asked(repository)


@pytest.mark.parametrize(
    ("target", "given", "said"),
    [
        ("propose", {"MACHINE": "new"}, "pr create --base main --head record-new-by-hand"),
        ("push", {}, ""),
        ("report", {"UNLOCKED": "failure", "LINKS": "success"}, "issue create --title The book does not pass"),
    ],
)
def test_the_line_of_a_workflow_opens_it(repository: Path, target: str, given: dict[str, str], said: str) -> None:
    """In a clone that has no environment, as the jobs that may write have none."""
    assert target in STANDING_IN
    (repository / "code" / "booktools" / "commands").mkdir(parents=True)
    for name in (
        "Makefile",
        *(f"code/booktools/{name}.py" for name in ("__init__", "commands/__init__", "commands/github")),
    ):
        shutil.copy(ROOT / name, repository / name)
    (repository / "records" / "new").mkdir()
    (repository / "records" / "new" / "page.ipynb").write_text("{}")
    write_notebooks(repository)
    [line] = {line for each in workflows() for step in each.steps if target in step.targets for line in step.lines}
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "GITHUB_"))}
    done = subprocess.run(["bash", "-ec", line], cwd=repository, env=bare | given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert said in asked(repository)
    assert not (repository / ".venv").exists()


def test_jobs_that_passed_open_none(repository: Path) -> None:
    assert github.report({"UNLOCKED": "success", "LINKS": "cancelled"}) == []
    assert asked(repository) == ""


def test_what_fails_is_named_without_its_token(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GH_TOKEN", "do-not-show")
    with pytest.raises(SystemExit) as error:
        github.run("git", "push", "nowhere", "main")
    assert "git push nowhere failed" in str(error.value)
    assert "do-not-show" not in str(error.value)


# --- external links ---


def test_addresses_end_where_the_sentence_does() -> None:
    text = (
        "See https://a.org/x. And (https://b.org/y_(z)), `https://c.org/q?a=b`; 见https://d.org/w。"
        " http://127.0.0.1:80/ http://localhost:8 https://a.org/x"
    )
    assert external_links.cited(text) == [
        "https://a.org/x",
        "https://b.org/y_(z)",
        "https://c.org/q?a=b",
        "https://d.org/w",
    ]


def test_the_sources_cite_addresses() -> None:
    found = external_links.addresses(ROOT)
    assert any("chapters/references.bib" in files for files in found.values())


class _Answers(http.server.BaseHTTPRequestHandler):
    """Answers with the status that the path names."""

    def do_GET(self) -> None:
        self.send_response(int(self.path.strip("/")))
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{made.server_address[1]}"
        made.shutdown()


def test_an_address_is_asked_over_http(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert [external_links.ask(f"{server}/{status}#there") for status in (200, 404, 403, 503)] == [200, 404, 403, 503]
    assert external_links.ask("http://127.0.0.1:1/") == external_links.NO_ANSWER


def test_a_server_that_fails_is_asked_again() -> None:
    answers, pauses = iter([503, 0, 200]), list[float]()
    assert external_links.ask_patiently("x", lambda _: next(answers), pauses.append) == 200
    assert pauses == sorted(pauses)
    assert external_links.ask_patiently("x", lambda _: 404, pauses.append) == 404
    assert len(pauses) == 2


def test_only_what_is_gone_fails() -> None:
    statuses = {"https://a.org/1": 200, "https://a.org/2": 403, "https://b.org/": 503}
    found = {address: ["page.md"] for address in statuses}
    lines, fine = external_links.summary(found, external_links.ask_all(statuses, statuses.__getitem__))
    assert fine
    assert lines[-1] == "3 addresses: 0 gone, 2 refuse to say"
    statuses["https://b.org/"] = 404
    lines, fine = external_links.summary(found, external_links.ask_all(statuses, statuses.__getitem__))
    assert not fine
    assert "GONE (404): https://b.org/ in page.md" in lines


# --- what is published ---


def machine(name: str, pages: int, gpu: bool = False, stale: int = 0, date: str = "2026-01-01") -> Any:
    """Returns a machine with executions of some pages, the first of them stale."""
    done = {f"p{n}": SimpleNamespace(stale=("cells",) if n < stale else ()) for n in range(pages)}
    has = lambda need: need == "cuda" and gpu
    return SimpleNamespace(name=name, execution=done.get, has=has, environment={"date": date, "cpu": "a CPU"})


@pytest.mark.parametrize(
    ("machines", "best"),
    [
        ([machine("cpu", 3), machine("gpu", 3, gpu=True, stale=1)], "gpu"),
        ([machine("cpu", 3), machine("gpu", 3, gpu=True, stale=2)], "cpu"),
        ([machine("cpu", 3), machine("gpu", 3, gpu=True, stale=3)], "cpu"),
        ([machine("cpu", 3, stale=2), machine("gpu", 3, gpu=True, stale=2)], "gpu"),
        ([machine("cpu", 3), machine("gpu", 2, gpu=True)], "cpu"),
        ([machine("more", 3, stale=2), machine("current", 2)], "current"),
        ([machine("more", 3, stale=1), machine("fewer", 2)], "more"),
        ([machine("old", 3), machine("new", 3, date="2026-02-01")], "new"),
    ],
)
def test_a_gpus_record_that_is_current_for_most_pages_is_published_else_the_best_cpus(
    machines: list[Any], best: str
) -> None:
    assert publication.choose(machines, ["p0", "p1", "p2"]).name == best


def test_without_a_record_nothing_is_published() -> None:
    with pytest.raises(BookError, match="no record to publish"):
        publication.choose([machine("empty", 0)], ["p0"])


def test_the_cover_names_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    edition: Any = SimpleNamespace(catalogue=SimpleNamespace(translate=lambda text: text))
    monkeypatch.setattr("booktools.show.display.current", lambda: edition)
    text = cover.note(edition, machine("cpu-2-cores", 1)).astext()
    assert "cpu-2-cores" in text
    assert "a CPU" in text


def a_site(folder: Path, **changed: str) -> Path:
    """Writes a site of one page in two languages, in which all is in order but what is given."""
    files = {"index.html": '<link rel="canonical" href="https://a.org/"><a href="zh/index.html#s">zh</a>'}
    files |= {"zh/index.html": '<p id="s"><a href="../index.html">en</a></p><a href="https://a.org/">a</a>'}
    files |= {"style.css": "body { background: url(data:x) }"} | {k.replace("__", "/"): v for k, v in changed.items()}
    for name, text in files.items():
        if text:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_a_site_in_order_is_published(tmp_path: Path) -> None:
    assert list(published.problems(a_site(tmp_path), ["index"], ["en", "zh"])) == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("index.html", '<a href="zh/index.html#t">', "leads nowhere: zh/index.html#t"),
        ("index.html", '<a href="missing.html">', "leads nowhere: missing.html"),
        ("index.html", '<script src="https://a.org/x.js"></script>', "asks another host: https://a.org/x.js"),
        ("index.html", '<link rel="stylesheet" href="//a.org/x.css">', "asks another host: //a.org/x.css"),
        ("index.html", '<img srcset="https://a.org/x.png 2x">', "asks another host: https://a.org/x.png"),
        ("index.html", "<style>@import 'https://a.org/x.css';</style>", "asks another host: https://a.org/x.css"),
        ("style.css", "body { background: url('https://a.org/x') }", "asks another host: https://a.org/x"),
        ("zh/index.html", "", "no such page in the language zh"),
        ("index.html", "x" * (published.PAGE_BYTES + 1), "MiB, where"),
    ],
)
def test_a_site_with_a_fault_is_not(tmp_path: Path, name: str, text: str, said: str) -> None:
    site = a_site(tmp_path, **{name.replace("/", "__"): text})
    assert any(said in each for each in published.problems(site, ["index"], ["en", "zh"]))
