"""Open a change with a record, or an issue, on GitHub through its command line tool ``gh``; push the notebooks.

``python -m booktools.commands.github propose``, ``… push`` and ``… report`` need git, ``gh`` and the standard library
only: the jobs that may write to the repository install nothing. The token is read by ``gh`` from ``GH_TOKEN`` and
appears in no command.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping

NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
BOT = ("github-actions[bot]", "41898282+github-actions[bot]@users.noreply.github.com")
"""The name and address under which workflows commit."""
AS_BOT = ("-c", f"user.name={BOT[0]}", "-c", f"user.email={BOT[1]}")
WITH_TOKEN = ("-c", "credential.helper=", "-c", "credential.helper=!gh auth git-credential")
NOTEBOOKS = ("_build/notebooks", "notebooks")
"""The folder with the plain notebooks, and the branch that Colab and Binder take them from."""
ISSUES = {
    "UNLOCKED": (
        "The book does not pass with the newest versions",
        "The weekly run checks, executes in short and builds with the newest version of every package "
        "(`make unlocked`). Something of it failed.",
    ),
    "LINKS": (
        "Addresses that the book cites do not answer",
        "The weekly run asks every external address in the sources (`make links`). Its log lists those that are gone.",
    ),
}
"""The title and text of the issue for each weekly job, by the variable that holds the job's result."""


def run(*command: str) -> str:
    """Returns what a command prints; SystemExit names it and what it said where it fails."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command[:3])} failed with {done.returncode}:\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


def propose(environment: Mapping[str, str]) -> str:
    """Pushes a branch with ``records/$MACHINE`` alone and opens a change; returns its address.

    Returns an empty string where the record is the one that the repository already has.
    """
    name = environment.get("MACHINE", "")
    if not NAME.fullmatch(name):
        sys.exit(f"MACHINE={name!r}: a machine's name is lower-case letters, digits and hyphens, such as h100")
    folder = f"records/{name}"
    if not os.path.isdir(folder):
        sys.exit(f"{folder}: no such record; make record MACHINE={name} makes it")
    if not run("git", "status", "--porcelain", "--", folder):
        print(f"{folder} is what the repository already has: nothing to propose.")
        return ""
    branch = f"record-{name}-{environment.get('GITHUB_RUN_ID', 'by-hand')}"
    title = f"Record {name}"
    run("git", "switch", "--create", branch)
    run("git", "add", "--", folder)
    run("git", *AS_BOT, "commit", "-m", title, "--", folder)
    run("git", *WITH_TOKEN, "push", "origin", branch)
    body = (
        f"Executed in full by the workflow *book* on the machine recorded as `{name}` ({where(environment)}). "
        f"See it with `make book MACHINE={name}`. GitHub starts no check for a change that a workflow opened: "
        "close and reopen it, or start *check* by hand on this branch."
    )
    address = run("gh", "pr", "create", "--base", "main", "--head", branch, "--title", title, "--body", body).strip()
    print(address)
    return address


def push(environment: Mapping[str, str]) -> str:
    """Replaces the branch of notebooks by one commit with those that `make notebooks` wrote; returns its name.

    They are made of main, so that their history would tell nothing.
    """
    folder, branch = NOTEBOOKS
    if not os.path.isdir(folder):
        sys.exit(f"{folder}: no notebooks; make notebooks writes them")
    made_of = run("git", "rev-parse", "--short=10", "HEAD").strip()
    address = run("git", "remote", "get-url", "origin").strip()
    inside = ("git", "-C", folder)
    run(*inside, "init", "--quiet", "--initial-branch", branch)
    run(*inside, "add", "--all")
    run(*inside, *AS_BOT, "commit", "--quiet", "-m", f"Notebooks of {made_of}")
    run(*inside, *WITH_TOKEN, "push", "--force", address, f"HEAD:{branch}")
    print(f"{branch}: the notebooks of {made_of}")
    return branch


def report(environment: Mapping[str, str]) -> list[str]:
    """Opens an issue for each weekly job that failed, or comments on the one that is open; returns their titles."""
    failed = [issue for job, issue in ISSUES.items() if environment.get(job) == "failure"]
    for title, text in failed:
        body = f"{text}\n\nThe run: {where(environment)}"
        listed = run("gh", "issue", "list", "--state", "open", "--limit", "200", "--json", "number,title")
        number = next((str(each["number"]) for each in json.loads(listed) if each["title"] == title), None)
        if number:
            run("gh", "issue", "comment", number, "--body", body)
        else:
            run("gh", "issue", "create", "--title", title, "--body", body)
        print(f"{'commented on' if number else 'opened'}: {title}")
    return [title for title, _ in failed]


def where(environment: Mapping[str, str]) -> str:
    """Returns the address of the run that asks, from the variables that GitHub sets."""
    parts = [environment.get(name, "") for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")]
    return "{}/{}/actions/runs/{}".format(*parts) if all(parts) else "started by hand"


def main(arguments: list[str]) -> int:
    """Runs the command that is named; returns the exit status."""
    commands = {"propose": propose, "push": push, "report": report}
    if len(arguments) != 1 or arguments[0] not in commands:
        print(f"usage: python -m booktools.commands.github {'|'.join(commands)}", file=sys.stderr)
        return 2
    commands[arguments[0]](os.environ)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
