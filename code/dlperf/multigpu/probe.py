"""A command for your own machines: what the link between your devices gives, and what a gradient will cost on it.

    torchrun --nproc-per-node 2 -m dlperf.multigpu.probe --gradient 45MB

It times a barrier, all-reduce by message size, and a step of ResNet-18 under DistributedDataParallel, as
`dlperf.multigpu.all_reduce_times` describes: on GPUs by NCCL where each rank has one, else on the CPU by gloo. Ranks
that differ in what must be the same end the command with an error that names them. The chapter *Training on multiple
GPUs, from scratch* ends with it.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict

import torch
import torch.distributed as dist

from dlperf.device import is_gpu
from dlperf.measurement import Measurement, format_quantity
from dlperf.multigpu.agreement import Disagreement, check_over_store
from dlperf.multigpu.all_reduce_times import Findings, Options, measure, message_sizes
from dlperf.multigpu.group import backend_of, device_of

COMMAND = "torchrun --nproc-per-node 2 -m dlperf.multigpu.probe"
"""How the command is started on one host, with a process for each of two devices."""

VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
"""What torchrun tells each process."""

UNITS = {"": 1, "B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
"""Bytes of each unit in which a size may be given."""


def parse_size(text: str) -> int:
    """Returns the bytes of a size such as ``45MB``, ``512 KiB`` or ``1.5GB``. Raises ValueError if it is not one."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(\w*)", text.strip())
    if not found or found[2] not in UNITS or not (size := round(float(found[1]) * UNITS[found[2]])):
        raise ValueError(f"a size is a number of bytes with a unit ({', '.join(filter(None, UNITS))}), got {text!r}")
    return size


def table(findings: Findings, gradient: int = 0) -> str:
    """Returns the findings as lines for reading, with the cost of a ``gradient`` of so many bytes (0: the model's)."""
    f = findings
    rows = [
        ("barrier", with_spread(f.barrier)),
        *((f"all-reduce of {format_quantity(n, 'B')}", with_spread(m)) for n, m in f.all_reduce.items()),
        *predictions(f, gradient or f.gradient),
        (f"DDP step, {f.batch} images a rank, gradient of {format_quantity(f.gradient, 'B')}", with_spread(f.step)),
        ("the same step without its all-reduce", with_spread(f.local_step)),
    ]
    width = max(len(name) for name, _ in rows)
    head = f"{f.world_size} ranks on {f.device}, {f.backend}, PyTorch {torch.__version__}; medians ± IQR / 2"
    return "\n".join([head, *(f"{name:<{width}}  {value}" for name, value in rows)])


def with_spread(times: Measurement) -> str:
    """Returns the median of some times and half of their interquartile range, each with its unit."""
    return f"{format_quantity(times.median, 's'):>7} ± {format_quantity(times.iqr / 2, 's', 2)}"


def predictions(findings: Findings, gradient: int) -> list[tuple[str, str]]:
    """Returns the rows that the line through the times gives, or one that says why there is no line."""
    try:
        line, seconds = findings.line, findings.predict(gradient)
    except ValueError:
        return [("no line fits these times", "take more --samples")]
    return [
        ("latency of an all-reduce (alpha)", f"{format_quantity(line.alpha, 's'):>7}"),
        ("bandwidth of a rank's link (1 / beta)", f"{format_quantity(line.bandwidth, 'B/s'):>7}"),
        (
            f"predicted all-reduce of a gradient of {format_quantity(gradient, 'B')}",
            f"{format_quantity(seconds, 's'):>7}",
        ),
    ]


def parse(arguments: Sequence[str] | None = None) -> Options:
    """Returns the options of a command line; ends the process with a message if it has a wrong one."""
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="Times all-reduce and a data-parallel step on the devices it is started on.",
        epilog="An all-reduce of S bytes over k ranks takes alpha + beta * 2 (k - 1) / k * S. SIZE is such as 45MB.",
    )
    add = parser.add_argument
    add("--gradient", type=size_argument, default=0, metavar="SIZE", help="predict this (default: the model's)")
    add("--largest", type=size_argument, default=Options.largest, metavar="SIZE", help="message (default: 16MiB)")
    add("--batch", type=count_argument, default=0, help="images a rank (default: 16; on a large GPU 512)")
    add("--samples", type=count_argument, default=Options.samples, help="of each time (default: %(default)s)")
    options = Options(**vars(parser.parse_args(arguments)))
    try:
        message_sizes(options.largest)
    except ValueError as error:
        parser.error(str(error))
    return options


def size_argument(text: str) -> int:
    """Returns the bytes of an argument, for argparse."""
    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def count_argument(text: str) -> int:
    """Returns a positive whole number of an argument, for argparse."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"a positive whole number is needed, got {text!r}")
    return int(text)


def join_group(options: Options) -> tuple[int, int]:
    """Joins the process group that torchrun describes; returns rank and world size.

    Raises `Disagreement` before that, where ranks would otherwise wait for each other in vain.
    """
    store, rank, world_size = next(dist.rendezvous("env://"))
    device = device_of(int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"]))
    report = {"PyTorch": torch.__version__, "WORLD_SIZE": world_size, "device": device.type}
    report |= {f"--{name}": value for name, value in asdict(options).items()}
    check_over_store(dist.PrefixStore("probe", store), rank, world_size, report)
    if is_gpu(device):
        torch.accelerator.set_device_index(device.index)
    dist.init_process_group(
        backend_of(device), store=dist.PrefixStore("group", store), rank=rank, world_size=world_size
    )
    return rank, world_size


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command: prints the table on rank 0, and an error on every rank; returns the exit status."""
    options = parse(arguments)
    if missing := [name for name in VARIABLES if name not in os.environ]:
        print(f"torchrun sets {', '.join(missing)}, which are missing. Start it so:\n  {COMMAND}", file=sys.stderr)
        return 2
    try:
        rank, world_size = join_group(options)
        findings = measure(rank, world_size, options)
        if rank == 0:
            print(table(findings, options.gradient), flush=True)
    except (Disagreement, ValueError) as error:
        print(f"rank {os.environ['RANK']} stops: {error}", file=sys.stderr, flush=True)
        return 1
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
