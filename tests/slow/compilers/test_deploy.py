"""Deployment: what is sent to the program that runs a package, and what comes back.

The program here is Python and multiplies by the matrix that the package holds. The one in C++ takes minutes to build,
as packages do: `tests/long` holds both against Python.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from dlperf.compilers import deploy

STAND_IN = """#!{python}
import sys
import torch
package, given, made, threads, samples, calls = sys.argv[1:]
try:
    weight = torch.load(package)
except OSError as error:
    sys.exit(f"terminate called\\n  what():  {{error}}")
torch.save(tuple(x @ weight for x in torch.load(given)), made)
assert int(threads) == {threads}
print(*[1e-3 * int(calls)] * int(samples), sep="\\n")
"""
"""Says that each sample took a millisecond for each call that it was asked for."""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "program"
    path.write_text(STAND_IN.format(python=sys.executable, threads=1), encoding="utf-8")
    path.chmod(0o755)
    monkeypatch.setattr(deploy, "cpp_program", lambda: path)


@pytest.mark.usefixtures("program")
def test_a_program_is_given_its_inputs_and_its_samples_are_those_that_it_prints(tmp_path: Path) -> None:
    """By turns with a function, with as many threads and calls."""
    x, weight, package = torch.randn(3, 8), torch.randn(8, 2), tmp_path / "model.pt2"
    torch.save(weight, package)
    threads: list[int] = []
    ways = {"model": lambda x: threads.append(torch.get_num_threads())}
    with torch.utils.benchmark.set_torch_threads(1):
        (found,), seconds = deploy.run_in_cpp(package, [x], samples=3, calls=2)
    torch.testing.assert_close(found, x @ weight)
    assert (seconds.samples, seconds.calls_per_sample, seconds.unit) == ((2e-3,) * 3, 2, "s")
    sides = deploy.latencies(ways, package, x, rounds=2, samples=3)
    assert {name: len(m.samples) for name, m in sides.items()} == {"model": 2, "C++": 2}
    assert sides["model"].pairing_id == sides["C++"].pairing_id
    assert set(threads) == {1}


@pytest.mark.usefixtures("program")
def test_a_package_that_is_none_is_named(tmp_path: Path) -> None:
    with torch.utils.benchmark.set_torch_threads(1), pytest.raises(deploy.DeployError, match=r"none\.pt2.*what\(\):"):
        deploy.run_in_cpp(tmp_path / "none.pt2", [torch.ones(1)])


def test_what_another_process_cannot_load_is_known(tmp_path: Path) -> None:
    assert not deploy.loads(tmp_path / "none.pt2")
