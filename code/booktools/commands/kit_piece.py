"""Execute chapters on a bare machine for as long as a piece has time, one kernel each."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from queue import Empty
from typing import TYPE_CHECKING, Any, TypeVar

from booktools.commands import privacy
from booktools.executions import canary
from booktools.source.kernel import ANSI, KEY, TIMEOUTS

if TYPE_CHECKING:
    from nbclient import NotebookClient
    from nbformat import NotebookNode

T = TypeVar("T")
KERNEL = "kit"
"""The name of the kernel that `booktools.commands.kit_run` sets up."""
SAVING = 20
"""Seconds of a piece that are kept for stopping a kernel, a last canary and writing what came out; a tenth of a short
piece."""
CANARY_S = 60
"""Seconds after which a canary is given up: its page is executed without one."""
INTERRUPT_EVERY_S = 10
"""How often a kernel is interrupted that goes on with a cell past its limit."""
DONE, FAILED, CUT_OFF = "done", "failed", "cut off"


def identity(machine: dict[str, Any]) -> dict[str, Any]:
    """Returns what two executions must share to be of one machine: processor, cores, GPUs."""
    return {name: machine.get(name) for name in ("cpu", "cores", "gpus")}


def clock(seconds: float) -> str:
    """Returns a time in seconds as minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Log:
    """Lines that are printed and kept in a file at once, each with the time since ``start``."""

    def __init__(self, path: Path, start: float) -> None:
        self.path, self.start = path, start

    def __call__(self, line: str) -> None:
        line = f"{clock(time.monotonic() - self.start)} {line}"
        print(line, flush=True)
        self.note(line)

    def note(self, line: str) -> None:
        """Keeps a line without printing it."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


class Piece:
    """One piece of the work: chapters that are not done yet, for so many minutes from ``start``."""

    def __init__(self, kit: Path, out: Path, resume: list[Path], minutes: float, start: float) -> None:
        from dlperf.environment import machine

        self.manifest = json.loads((kit / "kit.json").read_text(encoding="utf-8"))
        self.kit, self.out, self.minutes = kit, out, minutes
        self.folders = list(dict.fromkeys([out, *resume]))
        self.machine = machine()
        self.log = Log(out / "log.txt", start)
        self.deadline = start + 60 * minutes - min(SAVING, 6 * minutes)

    def left(self) -> float:
        """Returns the seconds until this piece must end."""
        return self.deadline - time.monotonic()

    def prepared(self, page: str) -> NotebookNode:
        """Returns a chapter as the kit brings it, not executed."""
        import nbformat

        return nbformat.read(self.kit / "pages" / f"{page}.ipynb", as_version=4)

    def earlier(self, page: str) -> dict[str, Any]:
        """Returns what an earlier piece on this machine said of the same chapter; empty without one."""
        import nbformat

        now = self.prepared(page).metadata[KEY]["fingerprint"]
        told: list[dict[str, Any]] = []
        for folder in self.folders:
            path = folder / f"{page}.ipynb"
            try:
                kept = nbformat.read(path, as_version=4).metadata[KEY]
                if kept["fingerprint"] == now and identity(kept["machine"]) == identity(self.machine):
                    told.append(kept["run"])
            except FileNotFoundError:
                continue
            except Exception as error:
                self.log(f"{path}: not an executed chapter ({type(error).__name__}: {error}), so it is passed over")
        return next((run for run in told if run["state"] == DONE), told[0] if told else {})

    def run(self, pages: list[dict[str, Any]], again: bool) -> bool:
        """Executes what is not done of ``pages``, in their order, and returns whether all of them are done now."""
        states: dict[str, str] = {}
        tried = False
        for page in pages:
            name, before = page["name"], self.earlier(page["name"])
            expected = max(before.get("seconds", 0), page["seconds"] or 0)
            if before.get("state") == DONE or (before.get("state") == FAILED and not again):
                states[name] = before["state"]
                self.log(f"{name}: {before['state']} in an earlier piece; not executed again")
            elif before.get("state") == CUT_OFF and before["of"] >= self.minutes and not again:
                states[name] = f"too long for {self.minutes:g} minutes"
                self.log(
                    f"{name}: a whole piece of {before['of']:g} minutes ended in its cell {before['cell']} of "
                    f"{before['cells']}. What a cell computed cannot be kept for the next piece: only a longer "
                    "one (--minutes), shorter cells or, if something else kept the machine busy, --again help"
                )
            elif tried and expected > self.left():
                states[name] = "waiting"
                self.log(f"{name}: about {clock(expected)}, and {clock(max(0, self.left()))} is left: the next piece")
            else:
                states[name] = self.execute(page, whole=not tried)
                tried = True
        self.log("; ".join(f"{name}: {state}" for name, state in states.items()))
        return set(states.values()) <= {DONE}

    def execute(self, page: dict[str, Any], whole: bool) -> str:
        """Executes one chapter, writes it to the folder of results, and returns its state.

        After a cell that raised the next ones are executed nevertheless: a machine that is lent for half
        an hour should tell all that is wrong at once. ``whole``: nothing else was executed in this piece.
        """
        notebook = self.prepared(page["name"])
        cells = [index for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
        notebook.metadata[KEY]["machine"] = self.machine
        about = f", about {clock(page['seconds'])} elsewhere" if page["seconds"] else ""
        self.log(f"{page['name']}: {len(cells)} cells{about}")
        watch = self._canary(lambda: canary.begin(CANARY_S))
        begun = time.monotonic()
        try:
            state, number = self._cells(notebook, page["name"], cells)
        except RuntimeError as error:
            raise SystemExit(
                f"no kernel started: {error}. It is spoken to over the loopback interface: is that up?"
            ) from None
        seconds, of = round(time.monotonic() - begun, 1), self.minutes if whole else 0.0
        run = {"state": state, "cell": number, "cells": len(cells), "seconds": seconds, "of": of}
        notebook.metadata[KEY]["run"] = run
        privacy.hide_names(notebook, {str(self.kit): "kit", **privacy.names()})
        self._write(notebook, page["name"])
        self.log(f"{page['name']}: {state} after {number} of {len(cells)} cells in {clock(seconds)}")
        if state == DONE and watch and (song := self._canary(lambda: canary.end(watch, CANARY_S))):
            notebook.metadata[KEY][canary.KEY] = song
            self._write(notebook, page["name"])
            for why in canary.unsettled(song, canary.best([song])):
                self.log(f"{page['name']}: the machine was not itself: {why}")
        return state

    def _write(self, notebook: NotebookNode, page: str) -> None:
        """Writes a chapter to the folder of results, whole or not at all."""
        import nbformat

        target = self.out / f"{page}.ipynb"
        nbformat.write(notebook, target.with_suffix(".part"))
        target.with_suffix(".part").replace(target)

    def _canary(self, ask: Callable[[], T]) -> T | None:
        """Returns what the canary says; None where it fails, which is logged and stops nothing."""
        try:
            return ask()
        except canary.CanaryError as error:
            self.log(f"  {error}")
            return None

    def _cells(self, notebook: NotebookNode, page: str, cells: list[int]) -> tuple[str, int]:
        """Executes the cells and returns the chapter's state, and the number of the last one begun."""
        from nbclient import NotebookClient
        from nbclient.exceptions import CellTimeoutError, DeadKernelError
        from nbformat.v4 import new_output

        lines = notebook.metadata.get("source_map", [0] * len(notebook.cells))
        limit, state, number, shown, late = self.manifest["cell_seconds"], DONE, 0, -10.0, 0
        environment = {**os.environ, "DLPERF_CELL_SECONDS": str(limit)}
        with tempfile.TemporaryDirectory() as folder:
            where_to = {"metadata": {"path": folder}}
            client = NotebookClient(notebook, kernel_name=KERNEL, allow_errors=True, resources=where_to, **TIMEOUTS)
            client.on_cell_error = _shown
            with client.setup_kernel(env=environment):
                notebook.metadata["language_info"] = _language(client)
                begun = time.monotonic()
                for number, index in enumerate(cells, 1):
                    where = f"{page}.md:{lines[index] + 1}: cell {number} of {len(cells)}"
                    if time.monotonic() - begun - shown >= 10:
                        shown = time.monotonic() - begun
                        self.log(f"  {where}, {clock(shown)}")
                    client.timeout = max(1, int(min(limit, self.left())))
                    start, cell = time.monotonic(), notebook.cells[index]
                    try:
                        client.execute_cell(cell, index)
                    except CellTimeoutError:
                        late += 1
                        cut_off = self.left() <= 1
                        if cut_off or late > 1 or not self._interrupted(client, limit):  # late twice: more would be
                            _signal(client, signal.SIGKILL)
                            return CUT_OFF if cut_off or self.left() <= 1 else FAILED, number
                        cell.outputs.append(new_output("error", ename="CellTimeout", evalue=f"ran past {limit} s"))
                    except (KeyboardInterrupt, SystemExit):
                        _signal(client, signal.SIGKILL)
                        raise
                    except DeadKernelError:
                        self.log(f"  {where}: the kernel died here; was there memory enough?")
                        return FAILED, number
                    self.log.note(f"  {where}: {time.monotonic() - start:.1f} s")
                    if not self._fine(cell, where):
                        state = FAILED
        return state, number

    def _interrupted(self, client: NotebookClient, limit: float) -> bool:
        """Interrupts a kernel until its cell has ended; returns whether it has, ``limit`` seconds later at most.

        A kernel ignores an interrupt that comes before its cell has begun.
        """
        end = time.monotonic() + limit
        while time.monotonic() < end and self.left() > 1 and _is_alive(client):
            _signal(client, signal.SIGINT)
            if _answers(client, INTERRUPT_EVERY_S):
                return True
        return False

    def _fine(self, cell: NotebookNode, where: str) -> bool:
        """Returns whether a cell raised nothing that it should not; logs that, and what it wrote as warnings."""
        expected = "raises-exception" in cell.metadata.get("tags", [])
        errors = [output for output in cell.outputs if output.output_type == "error" and not expected]
        for output in cell.outputs:
            if output.get("name") == "stderr":
                self.log.note(output.text.rstrip())
        for error in errors:
            self.log(f"  {where}: {error.ename}: {error.evalue}")
            self.log.note(ANSI.sub("", "\n".join(error.traceback)))
        return not errors


def _language(client: NotebookClient) -> dict[str, Any]:
    """Returns what a kernel says of its cells' language, as nbclient asks where it executes a notebook as a whole."""
    assert client.kc is not None
    reply = client.wait_for_reply(client.kc.kernel_info())
    assert reply is not None
    return reply["content"]["language_info"]


def _answers(client: NotebookClient, seconds: float) -> bool:
    """Returns whether a kernel answers within so many seconds, as it does once it is not busy with a cell."""
    from jupyter_core.utils import run_sync

    assert client.kc is not None
    asked, end = client.kc.kernel_info(), time.monotonic() + seconds
    with suppress(Empty):
        while (left := end - time.monotonic()) > 0:
            reply = run_sync(client.kc.shell_channel.get_msg)(timeout=left)
            if reply["parent_header"].get("msg_id") == asked:
                return True
    return False


def _is_alive(client: NotebookClient) -> bool:
    """Returns whether a kernel has not ended."""
    from jupyter_core.utils import run_sync

    assert client.km is not None
    return run_sync(client.km.is_alive)()  # type: ignore[arg-type]  # nbclient's manager is asynchronous


def _shown(cell: NotebookNode, cell_index: int, execute_reply: dict[str, Any]) -> None:
    """Gives a cell that raised an output that says so, where the kernel could not show it itself."""
    from nbformat.v4 import new_output

    if not any(output.output_type == "error" for output in cell.outputs):
        told = {name: execute_reply["content"].get(name, "") for name in ("ename", "evalue")}
        cell.outputs.append(new_output("error", **told))


def _signal(client: NotebookClient, number: int) -> None:
    """Sends a signal to a kernel and to what it has started: a cell's workers end with it, or are interrupted."""
    from jupyter_core.utils import run_sync

    assert client.km is not None
    run_sync(client.km.signal_kernel)(number)  # type: ignore[arg-type]  # nbclient's manager is asynchronous
