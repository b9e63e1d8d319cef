"""Every probe of this machine in one run: a table to read, a file to share, machines side by side.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from dlperf.environment import environment
from dlperf.hardware import (
    accelerator,
    access_patterns,
    branches,
    compression,
    false_sharing,
    links,
    locks,
    matmul,
    pointer_chase,
    processor,
    smt,
    storage,
    stream,
)
from dlperf.hardware.inventory import inventory
from dlperf.hardware.probe import Probe, Unknown
from dlperf.measurement import Measurement
from dlperf.plot import Table

_SUBJECTS = (
    smt,
    pointer_chase,
    access_patterns,
    stream,
    false_sharing,
    processor,
    branches,
    locks,
    matmul,
    storage,
    links,
    compression,
    accelerator,
)
PROBES: tuple[Probe, ...] = tuple(probe for subject in _SUBJECTS for probe in subject.PROBES)
"""All of them, in the order in which the chapter needs them."""


@dataclass(frozen=True)
class Answer:
    """What a probe said: a measurement, or why it cannot know."""

    name: str
    assumes: str
    measurement: Measurement | None
    refusal: str = ""

    def __str__(self) -> str:
        return self.measurement.summary() if self.measurement else f"unknown: {self.refusal}"


@dataclass(frozen=True)
class Survey:
    """A machine: what its system tells, what its probes said, by key, and the ``seconds`` it took."""

    machine: dict[str, Any]
    environment: dict[str, Any]
    answers: dict[str, Answer]
    seconds: float

    def table(self) -> Table:
        """Returns the answers as a table: name, median, what is assumed."""
        rows = [(a.name, str(a.measurement or "unknown"), a.assumes) for a in self.answers.values()]
        return Table(("probe", "answer", "assumes"), rows)

    def save(self, path: Path) -> None:
        """Writes all of it, samples included, as JSON that `load` reads on any machine."""
        path.write_text(json.dumps(asdict(self), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def ask(probes: Sequence[Probe] = PROBES, progress: bool = True) -> Survey:
    """Returns the answers of ``probes``, asked one after the other; a refusal is an answer."""
    start = time.perf_counter()
    answers = {}
    with tqdm(
        probes, disable=not progress, unit="probe", bar_format="{l_bar}{bar}| {n_fmt}/{total_fmt} {elapsed}"
    ) as bar:
        for each in bar:
            bar.set_description(f"{each.name:<32.32}")
            answers[each.key] = _answer(each)
    machine = json.loads(json.dumps(asdict(inventory())))  # as `load` will read it: lists, no tuples
    return Survey(machine, environment(), answers, time.perf_counter() - start)


def _answer(each: Probe) -> Answer:
    try:
        return Answer(each.name, each.assumes, each())
    except Unknown as unknown:
        return Answer(each.name, each.assumes, None, str(unknown))


def load(path: Path) -> Survey:
    """Returns a survey that was saved. Raises ValueError where the file is none."""
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        answers = {key: _answer_of(**answer) for key, answer in said["answers"].items()}
        return Survey(said["machine"], said["environment"], answers, said["seconds"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} is not a survey of a machine: {error}") from error


def _answer_of(name: str, assumes: str, measurement: dict[str, Any] | None, refusal: str) -> Answer:
    return Answer(name, assumes, Measurement.from_json(measurement) if measurement else None, refusal)


def lines(surveys: Iterable[Survey]) -> list[str]:
    """Returns the lines of a text table: a row for each probe, a column for each machine."""
    surveys = list(surveys)
    names = {key: answer.name for survey in surveys for key, answer in survey.answers.items()}
    heads = ["probe", *(_machine(survey.environment) for survey in surveys)]
    rows = [heads, *([name, *(_shown(s.answers.get(key)) for s in surveys)] for key, name in names.items())]
    widths = [max(len(row[i]) for row in rows) for i in range(len(heads))]
    found = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    reasons = {answer.refusal for s in surveys for answer in s.answers.values() if answer.refusal}
    return [*found, "", *sorted(f"unknown: {reason}" for reason in reasons)]


def _machine(environment: dict[str, Any]) -> str:
    """Returns a machine in a few words; its processor's design among them, which old surveys do not tell."""
    processor = " ".join(filter(None, (environment["cpu"], environment.get("microarchitecture"))))
    return f"{processor}, {environment['cores']} cores"


def _shown(answer: Answer | None) -> str:
    if answer is None:
        return "not asked"
    return answer.measurement.summary() if answer.measurement else "unknown"
