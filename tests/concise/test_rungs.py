"""The ladder as files, and what is read from what they print; no process starts here."""

from __future__ import annotations

import ast
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

import pytest
from torch.distributed.run import config_from_args, parse_args

from dlperf.concise import rungs
from dlperf.concise.rungs import SCRIPTS, RungError

LADDER = "one", "ddp", "accumulate", "sharded", "restarted"
HELPERS = "digits", "network", "right"


def functions(name: str) -> dict[str, str]:
    """Returns the functions of a script, as source."""
    source = SCRIPTS[name].read_text(encoding="utf-8")
    return {
        node.name: ast.get_source_segment(source, node) or ""
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef)
    }


@pytest.mark.parametrize("name", LADDER)
def test_a_script_needs_nothing_of_the_book(name: str) -> None:
    source = SCRIPTS[name].read_text(encoding="utf-8")
    modules = [
        node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    tops = {module.partition(".")[0] for module in modules}
    assert tops - set(sys.stdlib_module_names) == {"torch", "sklearn"}
    assert max(map(len, source.splitlines())) <= 76


def test_what_scripts_share_is_the_same_in_all() -> None:
    for name in HELPERS:
        assert len({functions(script)[name] for script in LADDER}) == 1
    assert len({functions(script)["own_device"] for script in LADDER[1:]}) == 1


@pytest.mark.parametrize(("old", "new"), list(pairwise(LADDER)))
def test_a_diff_turns_one_script_into_the_next(old: str, new: str) -> None:
    before, after = (SCRIPTS[name].read_text(encoding="utf-8").splitlines() for name in (old, new))
    changed = [line for line in rungs.diff(old, new).splitlines()[2:] if line[:1] in ("+", "-")]
    left, come = ([line[1:] for line in changed if line[0] == sign] for sign in "-+")
    rest = list(after)
    for line in come:
        rest.remove(line)
    for line in left:
        rest.append(line)
    assert sorted(rest) == sorted(before)
    assert len(changed) < len(after) / 2
    shown = SCRIPTS[new].with_suffix(".diff").read_text(encoding="utf-8")
    assert shown == rungs.diff(old, new), f"write rungs.diff({old!r}, {new!r}) to {new}.diff: the page shows it"


def test_what_a_run_prints_is_read_from_the_host_that_printed_it() -> None:
    found = rungs.result(["", "epoch 0: loss 0.5\nepoch 1: loss 0.25\nepoch 1: loss 0.125\nright 0.75\n"], [], 3.0)
    assert found == rungs.Run({0: 0.5, 1: 0.125}, 0.75, 3.0)


def test_a_run_tells_from_which_step_it_went_on() -> None:
    printed = "epoch 0: loss 0.5\ngoes on after step 6\ngoes on after step 18\nepoch 1: loss 0.25\nright 0.75\n"
    assert rungs.result([printed], [], 1.0).resumed == (6, 18)


def test_a_run_that_never_ends_its_story_is_an_error() -> None:
    with pytest.raises(RungError, match=r"prints 'right' and a share at its end, this one printed .*epoch 0"):
        rungs.result(["", "epoch 0: loss 0.5\n"], [], 1.0)


def test_a_folder_has_the_scripts_as_they_are_or_changed(tmp_path: Path) -> None:
    rungs.lay_out(tmp_path / "as they are")
    for name, path in SCRIPTS.items():
        assert (tmp_path / "as they are" / f"{name}.py").read_bytes() == path.read_bytes()
    rungs.lay_out(tmp_path / "changed", {"epochs": "rounds"})
    assert "rounds" in (tmp_path / "changed" / "one.py").read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="no script has 'nowhere'"):
        rungs.lay_out(tmp_path / "fits none", {"nowhere": ""})


def test_every_rung_computes_on_the_cpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[Mapping[str, str]] = []

    def started(command: str, folder: Path, variables: Mapping[str, str], **_: bool) -> NoReturn:
        given.append(variables)
        raise RungError("far enough")

    monkeypatch.setattr(rungs, "started", started)
    for call in (
        lambda: rungs.run("python one.py"),
        lambda: rungs.run_killed("torchrun restarted.py", "000012"),
        lambda: rungs.call_on_host(1, 2, "ddp.py", str(tmp_path), False),
    ):
        with pytest.raises(RungError, match="far enough"):
            call()
    assert [variables["CUDA_VISIBLE_DEVICES"] for variables in given] == [""] * 3


@pytest.mark.parametrize("command", [rungs.LAUNCHED, rungs.ON_HOSTS])
def test_a_launcher_that_is_late_is_not_taken_for_dead(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    for name, value in {"PET_RDZV_CONF": rungs.PATIENCE, "OMP_NUM_THREADS": "1"}.items():  # as `started` sets them
        monkeypatch.setenv(name, value)
    words = shlex.split(
        command.format(processes=2, hosts=2, first="10.0.0.1", own="10.0.0.2", leads=1, script="ddp.py")
    )
    config, *_ = config_from_args(parse_args(words[1:]))
    assert int(config.rdzv_configs["keep_alive_max_attempt"]) * 5 >= 60
    assert int(config.rdzv_configs["read_timeout"]) >= 60


def test_a_command_that_has_ended_before_it_could_be_killed_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []

    @contextmanager
    def started(command: str, folder: Path, variables: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
        begun.append(command)
        if len(begun) % 2:  # saved, and is about to end: it has no workers any more
            (folder / "run" / "000012").mkdir(parents=True)
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen([sys.executable, "-c", ""], text=True, **pipes) as process:
            yield process

    monkeypatch.setattr(rungs, "started", started)
    with pytest.raises(RungError, match="has ended 5 times before it had saved 000012 and could be killed"):
        rungs.run_killed("torchrun restarted.py", "000012")
    assert len(begun) == 5


def test_where_a_process_failed_its_own_words_are_shown_before_its_launcher_s() -> None:
    said = "[rank1]: ValueError: no such mesh", "torchrun: rank 1 failed " * 200
    program = f"import sys; sys.exit({chr(10).join(said)!r})"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=-1, stderr=-1, text=True)
    with process, pytest.raises(RungError, match=r"ended with exit status 1:\n\[rank1\]: ValueError: no such mesh$"):
        rungs.finish("torchrun sharded.py", process)
