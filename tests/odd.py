"""Records whose numbers came out odd: what no machine has measured yet, and some machine will."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from booktools.source.keys import stored
from booktools.source.notebook import code_cells
from dlperf.measurement import Measurement
from dlperf.records import MIME, PREFIX, bundle

Samples = Sequence[float]

CHANGES: dict[str, Callable[[Samples, random.Random], Samples]] = {
    "scaled": lambda samples, choose: [x * 10 ** choose.randint(-9, 9) for x in samples],
    "all scaled alike": lambda samples, choose: (lambda by: [x * by for x in samples])(10.0 ** choose.randint(-9, 9)),
    "below zero": lambda samples, choose: [-x for x in samples],
    "zero": lambda samples, choose: [0.0 for _ in samples],
    "equal": lambda samples, choose: [samples[0] for _ in samples],
    "one sample": lambda samples, choose: samples[:1],
    "two modes": lambda samples, choose: [x * (1 + 9 * (i % 2)) for i, x in enumerate(samples)] * 5,
    "wide": lambda samples, choose: [x * choose.lognormvariate(0, 1) for x in samples],
}
"""What may become of the samples of a measurement; they stay finite, as `dlperf.records.record` demands."""


def odd(path: Path, seed: int) -> NotebookNode:
    """Returns an executed notebook all of whose recorded numbers are replaced; those of one unit may be swapped."""
    notebook, choose = nbformat.read(path, as_version=4), random.Random(seed)
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs if stored(output)]
    content = {stored(o): o.data[PREFIX + MIME] for o in outputs if PREFIX + MIME in o.data}
    measured = [Measurement.from_json(dict(c["measurement"])) for c in content.values() if c["kind"] == "measurement"]
    changed: dict[str, dict[str, Any]] = {}
    for key, found in content.items():
        if found["kind"] == "measurement":
            m = Measurement.from_json(dict(found["measurement"]))
            other = choose.choice([m, choose.choice([other for other in measured if other.unit == m.unit])])
            samples = CHANGES[choose.choice(list(CHANGES))](other.samples, choose)
            changed |= bundle(key, replace(m, samples=tuple(samples)))
        elif not isinstance(found["value"], str):
            (value,) = CHANGES[choose.choice(["scaled", "below zero", "zero", "equal"])]([found["value"]], choose)
            number = round(value) if isinstance(found["value"], int) else float(value)
            new = bundle(key, number, found["unit"])
            new[key][MIME] = {**found, "value": number}
            changed |= new
    for output in outputs:
        if data := changed.get(stored(output)):
            output.data = NotebookNode({PREFIX + mime: content for mime, content in data.items()})
    return notebook
