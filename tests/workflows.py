"""The workflows in `.github/workflows`, read as data, and the rules that they keep.

GitHub's own schema and zizmor hold what is so of every repository; the rules here are the book's: each line that a
step runs is a target of the Makefile, and nothing that a stranger changes reaches the GPU runner.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import ROOT

FOLDER = ROOT / ".github" / "workflows"
TRUSTED = {"push", "schedule", "workflow_dispatch"}
"""Triggers that only those can pull who may write to the repository; ``push`` counts where it is main's alone."""
TRIGGERS = TRUSTED | {"pull_request"}
"""All triggers that the book uses. Those that run main's code with a stranger's data are not among them."""
ON_MAIN = "github.ref == 'refs/heads/main'"
HOSTED = re.compile(r"ubuntu-\d\d\.\d\d")
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
LINE = re.compile(r"make ([a-z-]+)")
WRITES = {
    "book/propose": {"contents", "pull-requests"},
    "publish/deploy": {"pages", "id-token"},
    "publish/notebooks": {"contents"},
    "weekly/report": {"issues"},
}
"""The rights to write, by workflow and job; every other job may read the tree and nothing else."""
KEYS = {"name", "on", "permissions", "concurrency", "jobs"}
JOB_KEYS = {"name", "needs", "if", "runs-on", "environment", "timeout-minutes", "permissions", "strategy", "steps"}
STEP_KEYS = {"name", "id", "if", "uses", "with", "run", "env"}
"""What a workflow, a job and a step may say: no container, shell or default that changes what a line means."""
VARIABLES = {"MACHINE", "GH_TOKEN", "UNLOCKED", "LINKS", "PART"}
"""What a step may set: nothing that make or a shell acts on."""
WITHOUT_INSTALLING = {"propose", "push", "report"}
"""The targets that a job with a right to write may run: they need the standard library, git and gh."""
STANDING_IN = ("propose", "push", "report")
"""The targets whose lines `tests/test_workflows.py` runs with a stand-in for gh, against a remote in a folder."""
ELSEWHERE = {
    "test": "runs itself: it is the command by which the tree is tested",
    "long": "runs this",
    "record": "takes half an hour and quiet, and needs the GPU for the record that is wanted",
    "links": "needs the internet; run here against a server of the test's own",
    "programs": "installs packages of the system",
    "namespaces": "changes a setting of the system, on Ubuntu 24.04",
    "unlocked": "takes half an hour and a gigabyte of newer packages",
}
"""The targets whose lines `tests/long/test_workflows.py` does not run, and why."""


@dataclass(frozen=True)
class Step:
    """A step: its job as ``workflow/job``, and the keys of its entry."""

    job: str
    entry: Mapping[str, Any]

    @property
    def lines(self) -> list[str]:
        """The lines that it runs; none where it uses an action."""
        return [line.strip() for line in str(self.entry.get("run", "")).splitlines() if line.strip()]

    @property
    def targets(self) -> list[str]:
        """The targets of the Makefile that it runs, lines that are something else left out."""
        return [found[1] for line in self.lines if (found := LINE.fullmatch(line))]

    def __str__(self) -> str:
        return f"{self.job}: {self.entry.get('name') or self.entry.get('uses') or self.entry.get('run')}"


@dataclass(frozen=True)
class Workflow:
    """A workflow by the name of its file, as text and as data."""

    name: str
    text: str

    @property
    def data(self) -> dict[str, Any]:
        """What the file holds; YAML reads the key ``on`` as a truth value."""
        read = yaml.safe_load(self.text)
        return {"on" if key is True else key: value for key, value in read.items()}

    @property
    def triggers(self) -> dict[str, Any]:
        """What starts it, each with its conditions."""
        on = self.data["on"]
        return on if isinstance(on, dict) else dict.fromkeys([on] if isinstance(on, str) else on)

    @property
    def jobs(self) -> dict[str, dict[str, Any]]:
        """Its jobs, each as ``workflow/job``."""
        return {f"{self.name}/{name}": job for name, job in self.data["jobs"].items()}

    @property
    def steps(self) -> list[Step]:
        """The steps of all its jobs."""
        return [Step(name, entry) for name, job in self.jobs.items() for entry in job.get("steps", [])]


def workflows(folder: Path = FOLDER) -> list[Workflow]:
    """Returns the workflows of the book."""
    return [Workflow(path.stem, path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yml"))]


def targets(makefile: Path = ROOT / "Makefile") -> set[str]:
    """Returns the targets of the Makefile that `make help` lists."""
    return set(re.findall(r"^([a-z-]+):.*## ", makefile.read_text(encoding="utf-8"), re.M))


def problems(workflow: Workflow, known: set[str]) -> list[str]:
    """Returns what a workflow breaks of the book's rules; ``known`` are the targets that there are."""
    found = [*_triggers(workflow), *_tokens(workflow)]
    if workflow.data.get("permissions") != {}:
        found.append(f"{workflow.name}: permissions at the top are not {{}}")
    found += _keys(workflow.name, workflow.data, KEYS)
    for name, job in workflow.jobs.items():
        found += [*_keys(name, job, JOB_KEYS), *_rights(name, job), *_runner(workflow, name, job)]
    for step in workflow.steps:
        found += [*_keys(str(step), step.entry, STEP_KEYS), *_lines(step, known), *_action(workflow, step)]
        found += _keys(str(step), step.entry.get("env", {}), VARIABLES)
    return found


def _keys(where: str, given: Mapping[str, Any], allowed: set[str]) -> Iterator[str]:
    for key in sorted(given.keys() - allowed):
        yield f"{where}: sets {key}, which no workflow of the book needs"


def _triggers(workflow: Workflow) -> Iterator[str]:
    for trigger in workflow.triggers.keys() - TRIGGERS:
        yield f"{workflow.name}: triggered by {trigger}"


def _tokens(workflow: Workflow) -> Iterator[str]:
    if "secrets." in workflow.text or "secrets[" in workflow.text:
        yield f"{workflow.name}: reads a secret, where every job does without"
    for number, line in enumerate(workflow.text.splitlines(), 1):
        if "github.token" in line and line.strip() != "GH_TOKEN: ${{ github.token }}":
            yield f"{workflow.name}:{number}: the token goes to gh alone, as GH_TOKEN in a step's env"


def _rights(name: str, job: Mapping[str, Any]) -> Iterator[str]:
    rights = job.get("permissions")
    if not isinstance(rights, dict):
        yield f"{name}: its permissions are not listed one by one"
        return
    writes = {right for right, level in rights.items() if level != "read"}
    if writes - WRITES.get(name, set()) or rights.keys() - writes - {"contents"}:
        yield f"{name}: permissions beyond what it needs: {rights}"
    if "timeout-minutes" not in job:
        yield f"{name}: has no limit of time"
    ran = {target for step in job.get("steps", []) for target in Step(name, step).targets}
    if writes and ran - WITHOUT_INSTALLING:
        yield f"{name}: may write, and runs what installs packages: {', '.join(sorted(ran - WITHOUT_INSTALLING))}"


def _runner(workflow: Workflow, name: str, job: Mapping[str, Any]) -> Iterator[str]:
    """A job on any machine but GitHub's starts on main alone, in the environment that asks for an approval."""
    runner = job.get("runs-on")
    if "uses" in job:
        yield f"{name}: calls another workflow, whose runner cannot be seen here"
    elif not (isinstance(runner, str) and HOSTED.fullmatch(runner)):
        if untrusted := workflow.triggers.keys() - TRUSTED:
            yield f"{name}: {', '.join(sorted(untrusted))} reaches the runner {runner}"
        push = workflow.triggers.get("push", {"branches": ["main"]})
        if push != {"branches": ["main"]}:
            yield f"{name}: a push to any branch reaches the runner {runner}"
        if ON_MAIN not in re.split(r"\s+&&\s+", str(job.get("if", ""))):
            yield f"{name}: starts on branches beside main, on the runner {runner}"
        if job.get("environment") != "gpu":
            yield f"{name}: reaches the runner {runner} without the environment that asks for an approval"


def _lines(step: Step, known: set[str]) -> Iterator[str]:
    for line in step.lines:
        called = LINE.fullmatch(line)
        if "${{" in line:
            yield f"{step}: an expression inside of what a shell runs: {line}"
        elif not called:
            yield f"{step}: runs something else than one target of the Makefile: {line}"
        elif called[1] not in known:
            yield f"{step}: there is no target {called[1]}"


def _action(workflow: Workflow, step: Step) -> Iterator[str]:
    action = str(step.entry.get("uses", ""))
    if not action:
        return
    if not PINNED.fullmatch(action):
        yield f"{step}: {action} is not pinned by a full hash"
    elif not re.search(rf"{re.escape(action)} # v\d+\.\d+\.\d+\n", workflow.text):
        yield f"{step}: no comment says which version {action} is"
    given = step.entry.get("with", {})
    if action.startswith("actions/checkout@") and given.get("persist-credentials") is not False:
        yield f"{step}: leaves the token in the tree"
    if "cache" in given and any("deploy" in name for name in workflow.jobs):
        yield f"{step}: what is published would be made of a cache"
