"""The program run by XLA on the CPU, through JAX if that is installed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dlperf.measurement import Measurement
from dlperf.parallel.automatic.program import STEPS, Seen, Span, alone_and_together, digest, numbers


def in_xla(width: int = 2, repeats: int = 15) -> Seen | None:
    """Returns what XLA does on the CPU with so many branches in one function of JAX; None where none can be used.

    It runs in a process of its own, since its threads would share the cores with ours.
    """
    if find_spec("jax") is None:
        return None
    code = f"from dlperf.parallel.automatic import xla; print(xla.here_in_xla({width}, {repeats}))"
    variables = {**os.environ, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=variables)
    if done.returncode:
        raise RuntimeError(f"JAX failed in its process: {done.stderr.strip()[-2000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    if found is None:
        return None
    measured = {key: Measurement.from_json(found[key]) for key in ("alone", "together", "busy")}
    return Seen(**measured, trace=[Span(**span) for span in found["trace"]], digests=found["digests"])


def here_in_xla(width: int, repeats: int) -> str:
    """Returns the same as JSON, measured in this process, in which nothing else should run."""
    try:
        import jax
        from jax import numpy as jnp
        from jax.profiler import ProfileData
    except (ImportError, AttributeError, RuntimeError):  # too old, or its parts do not go together
        return json.dumps(None)

    def chain(x: Any) -> Any:
        for _ in range(STEPS):
            x = jnp.sort(jnp.remainder(509 * x + 7, 2**14))
        return x

    def chains(*vectors: Any) -> list[Any]:
        return [jax.named_scope(f"branch{i}")(chain)(x) for i, x in enumerate(vectors)]

    inputs = [jnp.asarray(values.numpy()) for values in numbers(width)]
    one, all_of_them = jax.jit(chain), jax.jit(chains).lower(*inputs).compile()
    ready = jax.block_until_ready
    measured = alone_and_together(lambda: ready(one(inputs[0])), lambda: ready(all_of_them(*inputs)), repeats)
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            results = ready(all_of_them(*inputs))
        (file,) = Path(folder).rglob("*.xplane.pb")
        trace = _spans(ProfileData.from_file(str(file)), all_of_them.as_text() or "")
    found: dict[str, Any] = {key: m.to_json() for key, m in measured.items()}
    found |= {"trace": [asdict(span) for span in trace], "digests": [digest(np.asarray(r)) for r in results]}
    return json.dumps(found)


def _spans(trace: Any, program: str) -> list[Span]:
    """Returns the program's instructions as they ran; of which branch each is, stands in the compiled program."""
    of = dict(re.findall(r"%?([\w.-]+) = .*op_name=\"[^\"]*/branch(\d+)/", program))
    return [
        Span(name, line.name, int(of[name]), event.start_ns / 1e9, (event.start_ns + event.duration_ns) / 1e9)
        for plane in trace.planes
        for line in plane.lines
        for event in line.events
        if (name := event.name) in of
    ]
