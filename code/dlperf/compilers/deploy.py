"""Deployment: a compiled model leaves Python, and runs in a C++ program."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils import benchmark

from dlperf.compilers.compilation import in_blocks
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.native import build, libtorch_options
from dlperf.turns import columns

PROGRAM = r"""
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <iterator>

std::vector<at::Tensor> load(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const auto list = torch::jit::pickle_load({std::istreambuf_iterator<char>(file), {}});
  std::vector<at::Tensor> tensors;
  for (const auto& value : list.toListRef()) tensors.push_back(value.toTensor());
  return tensors;
}

void save(const std::vector<at::Tensor>& tensors, const char* path) {
  const auto tuple = c10::ivalue::Tuple::create(std::vector<at::IValue>(tensors.begin(), tensors.end()));
  const auto bytes = torch::jit::pickle_save(tuple);
  std::ofstream(path, std::ios::binary).write(bytes.data(), bytes.size());
}

int main(int argc, char** argv) {
  at::set_num_threads(std::stoi(argv[4]));
  const c10::InferenceMode no_gradients;
  torch::inductor::AOTIModelPackageLoader model(argv[1]);
  const auto inputs = load(argv[2]);
  save(model.run(inputs), argv[3]);
  for (int sample = 0; sample < std::stoi(argv[5]); ++sample) {
    const int calls = std::stoi(argv[6]);
    const auto start = std::chrono::steady_clock::now();
    for (int call = 0; call < calls; ++call) model.run(inputs);
    const std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    std::cout << seconds.count() / calls << '\n';
  }
}
"""
"""Runs a package on inputs that Python saved: outputs go to a file, seconds per call to the terminal.

Its arguments: package, inputs, outputs, threads, samples, calls per sample.
"""


class DeployError(RuntimeError):
    """A deployed model did not run."""


def cpp_program() -> Path:
    """Returns the C++ program that runs packages, built once. Raises `CompilerError` without a compiler."""
    return build(PROGRAM, *libtorch_options())


def loads(path: str | Path) -> bool:
    """Returns whether PyTorch can load the package at ``path``, as tried in a process of its own.

    Its loader is C++: where that fails, as PyTorch 2.11 for CUDA was seen to, it ends the process, and no
    exception tells.
    """
    trial = f"import torch; torch._inductor.aoti_load_package({str(path)!r})"
    return subprocess.run([sys.executable, "-c", trial], capture_output=True).returncode == 0


def run_in_cpp(
    path: Path, inputs: Sequence[torch.Tensor], samples: int = 30, calls: int = 100
) -> tuple[tuple[torch.Tensor, ...], Measurement]:
    """Returns what the package computes in a C++ program, and the time per call in seconds, after one to warm up.

    ``inputs`` are on the CPU; the program uses as many threads as PyTorch does here. Raises `CompilerError`
    where it cannot be built, `DeployError` with the program's own words where it fails.
    """
    settings = [str(n) for n in (torch.get_num_threads(), samples, calls)]
    printed, outputs = _run([str(cpp_program())], path, inputs, settings)
    seconds = tuple(map(float, printed.split()))
    return outputs, Measurement(seconds, "s", "C++", calls, environment("cpu"))


def latencies(
    functions: dict[str, Callable[[torch.Tensor], Any]], path: Path, x: torch.Tensor, rounds: int = 7, samples: int = 5
) -> dict[str, Measurement]:
    """Returns the time per call on ``x`` of each function in Python, and as ``C++`` of the package at ``path`` there.

    They are measured in turn, each with one thread: how the system wakes and places the threads of two processes is
    luck. Each of the ``rounds`` has a C++ process of its own, and gives the median of its ``samples``, which in both
    languages are of as many calls in a row: the first of them would tell something else.
    """
    rows = []
    with torch.inference_mode(), benchmark.set_torch_threads(1):
        for fn in functions.values():
            fn(x)
        for _ in range(rounds):
            in_cpp = run_in_cpp(path, [x], samples=samples)[1]
            blocks = in_blocks(functions, x, calls=in_cpp.calls_per_sample, repeats=samples, device="cpu")
            found = {**blocks, "C++": in_cpp}
            rows.append({name: m.median for name, m in found.items()})
    return columns(rows, dict.fromkeys(rows[0], "s"), environment("cpu"), in_cpp.calls_per_sample)


def _run(command: list[str], model: Path, inputs: Sequence[torch.Tensor], settings: list[str]) -> tuple[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        given, made = str(Path(folder, "inputs.pt")), str(Path(folder, "outputs.pt"))
        torch.save(list(inputs), given)
        done = subprocess.run([*command, str(model), given, made, *settings], capture_output=True, text=True)
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
            reason = next((line for line in said if "what():" in line), said[-1])
            raise DeployError(f"{model} did not run: {reason.strip()}")
        return done.stdout, torch.load(made)
